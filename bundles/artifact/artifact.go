// Package artifact builds OCI artifacts, and needs no network. If the content is the same, the bytes of
// the artifact are the same on every machine.
package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Artifact is the content to which a tag in a registry points.
type Artifact struct {
	Config      Blob
	Layers      []Blob
	Annotations map[string]string // annotations of the manifest, such as org.opencontainers.image.title
}

// Blob is content with a media type.
type Blob struct {
	MediaType types.MediaType
	Content   []byte
}

// Packed is an artifact with its manifest, ready to be written to a folder or a registry.
type Packed struct {
	Manifest v1.Descriptor    // the artifact's entry in an index
	Blobs    map[v1.Hash]Blob // the manifest and all other blobs, by digest
}

// Pack returns the artifact with its manifest.
func (a Artifact) Pack() (Packed, error) {
	p := Packed{Blobs: map[v1.Hash]Blob{}}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Layers: []v1.Descriptor{}, Annotations: a.Annotations}
	m.Config = p.add(a.Config)
	for _, layer := range a.Layers {
		m.Layers = append(m.Layers, p.add(layer))
	}
	text, err := json.Marshal(m) // sorts annotations
	if err != nil {
		return Packed{}, fmt.Errorf("writing the manifest of an artifact: %w", err)
	}
	p.Manifest = p.add(Blob{types.OCIManifestSchema1, text})
	return p, nil
}

func (p Packed) add(b Blob) v1.Descriptor {
	hash, size, _ := v1.SHA256(bytes.NewReader(b.Content)) // reading from memory cannot fail
	p.Blobs[hash] = b
	return v1.Descriptor{MediaType: b.MediaType, Size: size, Digest: hash}
}

// Digest returns the digest of the manifest, which identifies the artifact in every registry.
func (p Packed) Digest() string { return p.Manifest.Digest.String() }

// Size returns the size of all blobs, in bytes.
func (p Packed) Size() (bytes int64) {
	for _, b := range p.Blobs {
		bytes += int64(len(b.Content))
	}
	return bytes
}
