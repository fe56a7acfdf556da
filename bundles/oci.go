package bundles

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/bundles/artifact"
)

// oci is an OCI artifact of all objects, in the folder form that registries' tools read.
type oci struct{}

var (
	_ Format = oci{}
	_ Binary = oci{}
)

func (oci) Name() string { return "oci" }
func (oci) Doc() string {
	return "an OCI artifact in a folder, for Argo CD and Flux; publish oci takes it to a registry"
}
func (oci) binary() {}

// Render writes a layout with one artifact.
func (oci) Render(ctx context.Context, b Bundle) (Tree, error) {
	a, err := OCI(ctx, b, nil)
	if err != nil {
		return Tree{}, err
	}
	p, err := a.Pack()
	if err != nil {
		return Tree{}, err
	}
	return imageLayout{b.Tag(): p}.tree()
}

// OCI is an artifact of one layer: an archive with a file for each object, as kustomize has
// them, and with nothing else. Annotations are laid over those that are ours.
func OCI(ctx context.Context, b Bundle, annotations map[string]string) (artifact.Artifact, error) {
	files, err := objectFiles(ctx, b.Objects, "")
	if err != nil {
		return artifact.Artifact{}, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	entries := make([]artifact.Entry, len(files))
	for i, f := range files {
		entries[i] = artifact.Entry{Path: f.Path, Content: f.Content}
	}
	return artifact.OfFiles(entries, b.annotations(annotations))
}

// annotations are those of an artifact. There is no time among them: the same objects are the same artifact.
// Source: github.com/opencontainers/image-spec, annotations.md.
func (b Bundle) annotations(others map[string]string) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":       b.name(),
		"org.opencontainers.image.description": fmt.Sprintf("Objects of the platform %s, made by trainyard", b.name()),
	}
	maps.Copy(all, b.Delivery.Annotations)
	maps.Copy(all, others)
	return all
}

// Tag is what an artifact of the bundle is called where nobody says otherwise: one repository can hold all environments.
func (b Bundle) Tag() string { return cmp.Or(b.Environment, "latest") }
