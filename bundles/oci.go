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

// oci is the format "oci", in which a bundle is an OCI artifact with all objects. The artifact is written as an image
// layout, which is a folder that registry tools can read.
type oci struct{}

var (
	_ Format = oci{}
	_ Binary = oci{}
)

func (oci) Name() string { return "oci" }
func (oci) Doc() string {
	return "an OCI artifact in a folder, for Argo CD and Flux; publish oci uploads it to a registry"
}
func (oci) binary() {}

// Render returns an image layout that contains one artifact.
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

// OCI returns an artifact with one layer. The layer is an archive with one file for each object. The files have the
// same names as in the format "kustomize". The artifact has the annotations of the bundle and the annotations in the
// parameter "annotations". If the bundle and the parameter have an annotation with the same key, the artifact gets the
// value from the parameter.
func OCI(ctx context.Context, b Bundle, annotations map[string]string) (artifact.Artifact, error) {
	files, err := objectFiles(ctx, b.Objects, "")
	if err != nil {
		return artifact.Artifact{}, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return artifact.OfFiles(entries(files, ""), b.mergeAnnotations(annotations))
}

func entries(files []File, prefix string) []artifact.Entry {
	all := make([]artifact.Entry, len(files))
	for i, f := range files {
		all[i] = artifact.Entry{Path: prefix + f.Path, Content: f.Content}
	}
	return all
}

// mergeAnnotations returns the annotations of an artifact: the annotations of the bundle, and the annotations in the
// parameter "others". The annotations in the parameter "others" replace annotations of the bundle that have the same
// key. trainyard itself adds no annotation that contains a time, so that the same objects always give the same
// artifact. Source: github.com/opencontainers/image-spec, annotations.md.
func (b Bundle) mergeAnnotations(others map[string]string) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":       b.uniqueName(),
		"org.opencontainers.image.description": fmt.Sprintf("Objects of the platform %s, made by trainyard", b.uniqueName()),
	}
	maps.Copy(all, b.Delivery.Annotations)
	maps.Copy(all, others)
	return all
}

// Tag returns the default tag of the artifact. The default tag is the name of the environment, so that one repository
// can contain all environments of a platform. If the document has no environments, the default tag is "latest".
func (b Bundle) Tag() string { return cmp.Or(b.Environment, "latest") }
