// Package artifact makes OCI artifacts: a manifest that names a configuration and
// layers by their digests. The same content makes the same bytes, wherever and
// whenever. Nothing here knows a registry.
package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Artifact is what a registry holds under a tag.
type Artifact struct {
	Config      Blob
	Layers      []Blob
	Annotations map[string]string // of the manifest, such as org.opencontainers.image.title
}

// Blob is content of some type.
type Blob struct {
	MediaType types.MediaType
	Content   []byte
}

// Packed is an artifact with its manifest, ready to be written somewhere.
type Packed struct {
	Manifest v1.Descriptor    // what an index says of the artifact
	Blobs    map[v1.Hash]Blob // all that there is to write, the manifest too
}

// Pack writes the manifest.
func (a Artifact) Pack() (Packed, error) {
	p := Packed{Blobs: map[v1.Hash]Blob{}}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Layers: []v1.Descriptor{}, Annotations: a.Annotations}
	m.Config = p.add(a.Config)
	for _, layer := range a.Layers {
		m.Layers = append(m.Layers, p.add(layer))
	}
	text, err := json.Marshal(m) // in which annotations are sorted
	if err != nil {
		return Packed{}, fmt.Errorf("writing the manifest of an artifact: %w", err)
	}
	p.Manifest = p.add(Blob{types.OCIManifestSchema1, text})
	return p, nil
}

// add takes a blob in, and describes it.
func (p Packed) add(b Blob) v1.Descriptor {
	hash, size, _ := v1.SHA256(bytes.NewReader(b.Content)) // reading memory does not fail
	p.Blobs[hash] = b
	return v1.Descriptor{MediaType: b.MediaType, Size: size, Digest: hash}
}

// Digest is that of the manifest, by which a registry serves the artifact and nothing else.
func (p Packed) Digest() string { return p.Manifest.Digest.String() }

// Size is that of all blobs, in bytes.
func (p Packed) Size() (bytes int64) {
	for _, b := range p.Blobs {
		bytes += int64(len(b.Content))
	}
	return bytes
}
