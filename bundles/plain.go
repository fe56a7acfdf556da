package bundles

import (
	"bufio"
	"context"
	"io"

	"github.com/trainyard/trainyard/generator/object"
)

// plain is all objects in one YAML stream.
type plain struct{}

var (
	_ Format   = plain{}
	_ Streamer = plain{}
)

func (plain) Name() string { return "plain" }
func (plain) Doc() string  { return "one YAML stream, for kubectl apply and for Flux" }

// separator stands before each object.
var separator = []byte("---\n")

// Render puts the stream into manifests.yaml.
func (plain) Render(ctx context.Context, b Bundle) (Tree, error) {
	r, content := newRenderer(), Content{}
	for o := range b.Objects.All() {
		if err := ctx.Err(); err != nil {
			return Tree{}, err
		}
		content = r.append(append(content, separator), o)
	}
	return NewTree(File{Path: "manifests.yaml", Content: content})
}

// Stream writes the objects in order, each after a line of three dashes.
func (plain) Stream(ctx context.Context, w io.Writer, set object.Set) error {
	buffer := bufio.NewWriterSize(w, bufferSize)
	r, content := newRenderer(), Content(nil)
	for o := range set.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		content = r.append(append(content[:0], separator), o)
		if _, err := content.WriteTo(buffer); err != nil {
			return err
		}
	}
	return buffer.Flush()
}
