// Package bundles writes an object.Set as files: one kind of bundle per file
// here, all over one Tree. It adds no objects and drops none; what a format
// needs around the objects, such as kustomization.yaml, is packaging and lives
// outside the set.
package bundles

import (
	"context"
	"io"

	"github.com/trainyard/trainyard/generator/object"
)

// Format is a kind of bundle.
type Format interface {
	// Name is what --format calls it.
	Name() string
	// Doc says who reads such a bundle, in one line.
	Doc() string
	// Render lays the objects out as files.
	Render(ctx context.Context, b Bundle) (Tree, error)
}

// Streamer is implemented by formats that can also be one stream of text.
type Streamer interface {
	Stream(ctx context.Context, w io.Writer, set object.Set) error
}

// Binary is implemented by formats whose files are compressed. bundles/rendered holds none of them, because nobody
// could review what changes there.
type Binary interface {
	Format
	binary()
}

// Formats lists every format, in the order that help text shows them.
func Formats() []Format {
	return []Format{kustomize{}, plain{}, argocd{}, helm{}, oci{}, olmPayload{}}
}

// Named returns the format of a name; ok is false if there is none.
func Named(name string) (format Format, ok bool) {
	for _, f := range Formats() {
		if f.Name() == name {
			return f, true
		}
	}
	return nil, false
}
