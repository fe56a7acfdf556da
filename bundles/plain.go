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
	r, content := newRenderer(), make(Content, 0, pieces(b.Objects))
	for o := range b.Objects.All() {
		if err := ctx.Err(); err != nil {
			return Tree{}, err
		}
		content = r.append(append(content, separator), o)
	}
	return NewTree(File{Path: "manifests.yaml", Content: content})
}

// pieces counts those that objects are laid out in, each behind a separator.
func pieces(set object.Set) int {
	n := 0
	for o := range set.All() {
		shape, _ := o.Shape()
		n += 2 + 2*len(shape.Leaves())
	}
	return n
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
