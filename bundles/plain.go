package bundles

import (
	"bufio"
	"context"
	"io"

	"github.com/trainyard/trainyard/generator/object"
)

// plain is the format "plain", in which a bundle is one YAML stream with all objects.
type plain struct{}

var (
	_ Format   = plain{}
	_ Streamer = plain{}
)

func (plain) Name() string { return "plain" }
func (plain) Doc() string  { return "one YAML stream, for kubectl apply and for Flux" }

var separator = []byte("---\n")

// Render returns one file, manifests.yaml, with all objects.
func (plain) Render(ctx context.Context, b Bundle) (Tree, error) {
	content, err := stream(ctx, b.Objects)
	if err != nil {
		return Tree{}, err
	}
	return NewTree(File{Path: "manifests.yaml", Content: content})
}

// Stream writes the objects in order, each after a separator.
func (plain) Stream(ctx context.Context, w io.Writer, set object.Set) error {
	content, err := stream(ctx, set)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(w, bufferSize)
	if _, err := content.WriteTo(buffer); err != nil {
		return err
	}
	return buffer.Flush()
}

func stream(ctx context.Context, set object.Set) (content Content, err error) {
	r := newRenderer()
	for o := range set.All() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		content = r.append(append(content, separator), o)
	}
	return content, nil
}
