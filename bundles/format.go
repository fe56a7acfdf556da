// Package bundles renders an object.Set as files, and writes them to a folder. A bundle contains all objects of the
// object.Set. Depending on the format, a bundle also contains other files, such as kustomization.yaml or the
// resources of Argo CD.
package bundles

import (
	"context"
	"io"

	"github.com/trainyard/trainyard/generator/object"
)

// Format converts the objects of a platform to the files of a bundle.
type Format interface {
	// Name returns the name of the format. To select the format, users pass this name to the flag --format.
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

// Binary is implemented by formats that write compressed files. The folder bundles/rendered contains example bundles,
// but no bundles in these formats, because nobody could review changes to compressed files.
type Binary interface {
	Format
	binary()
}

// Formats returns every format, in the order of the help text.
func Formats() []Format {
	return []Format{kustomize{}, plain{}, argocd{}, helm{}, oci{}, olmPayload{}}
}

// Named returns the format with the given name. The result "ok" is false if there is no such format.
func Named(name string) (format Format, ok bool) {
	for _, f := range Formats() {
		if f.Name() == name {
			return f, true
		}
	}
	return nil, false
}
