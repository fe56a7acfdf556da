package bundles

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/trainyard/trainyard/bundles/artifact"
)

// Files that an OCI image layout contains in addition to its blobs. Source: github.com/opencontainers/image-spec,
// image-layout.md.
const (
	layoutFile = "oci-layout"
	indexFile  = "index.json"
)

// tagAnnotation is the key of an annotation in the index of an image layout. The value of the annotation is the tag of
// an artifact.
const tagAnnotation = "org.opencontainers.image.ref.name"

// imageLayout maps each tag in an OCI image layout to the artifact with this tag.
type imageLayout map[string]artifact.Packed

func (l imageLayout) tree() (Tree, error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	blobs := map[string]File{}
	for _, tag := range slices.Sorted(maps.Keys(l)) {
		d := l[tag].Manifest
		d.Annotations = map[string]string{tagAnnotation: tag}
		index.Manifests = append(index.Manifests, d)
		for hash, blob := range l[tag].Blobs {
			file := blobFile(hash)
			blobs[file] = File{Path: file, Content: Text(blob.Content)}
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return Tree{}, fmt.Errorf("writing %s: %w", indexFile, err)
	}
	files := slices.Collect(maps.Values(blobs))
	return NewTree(append(files,
		File{Path: layoutFile, Content: Text([]byte(`{"imageLayoutVersion":"1.0.0"}`))},
		File{Path: indexFile, Content: Text(text)})...)
}

func blobFile(hash v1.Hash) string { return path.Join("blobs", hash.Algorithm, hash.Hex) }
