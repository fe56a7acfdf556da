// Package bundles renders an object.Set as files, and writes them to a folder. Each format is one kind of bundle, and
// holds exactly the objects of the set. Files around the objects, such as kustomization.yaml, are not part of the set.
package bundles

import (
	"context"
	"io"

	"github.com/trainyard/trainyard/generator/object"
)

// Format is a kind of bundle.
type Format interface {
	// Name is the value of --format.
	Name() string
	// Doc describes the bundle and its consumers, in one line.
	Doc() string
	// Render returns the files of a bundle.
	Render(ctx context.Context, b Bundle) (Tree, error)
}

// Streamer is implemented by formats that can also write a bundle as one stream of text.
type Streamer interface {
	Stream(ctx context.Context, w io.Writer, set object.Set) error
}

// Binary is implemented by formats that write compressed files. bundles/rendered leaves them out, because nobody
// could review their changes.
type Binary interface {
	Format
	binary()
}

// Formats returns every format, in the order of the help text.
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
