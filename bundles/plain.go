package bundles

import (
	"bytes"
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

// Render puts the stream into manifests.yaml.
func (p plain) Render(ctx context.Context, set object.Set) (Tree, error) {
	var b bytes.Buffer
	if err := p.Stream(ctx, &b, set); err != nil {
		return Tree{}, err
	}
	return NewTree(File{Path: "manifests.yaml", Content: b.Bytes()})
}

// Stream writes the objects in order, each after a line of three dashes.
func (plain) Stream(ctx context.Context, w io.Writer, set object.Set) error {
	r, buffer := newRenderer(), []byte(nil)
	for o := range set.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		buffer = r.append(append(buffer[:0], "---\n"...), o)
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}
