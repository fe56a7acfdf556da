package formats

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func readImage(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(manifest.Manifests); n != 1 {
		t.Fatalf("the layout has %d artifacts, want 1", n)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	return image
}

// unpackArtifact unpacks an artifact as Argo CD does. Argo CD accepts only artifacts with one layer of type OCILayer,
// and reads every YAML file in the layer. Source: github.com/argoproj/argo-cd, util/oci/client.go.
func unpackArtifact(t *testing.T, image v1.Image) []byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v: want one", len(layers), err)
	}
	if kind, err := layers[0].MediaType(); err != nil || kind != types.OCILayer {
		t.Errorf("the layer is of type %s, %v: want %s", kind, err, types.OCILayer)
	}
	blob, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blob.Close() }() // closing after reading loses no data
	unpacked, err := gzip.NewReader(blob)
	if err != nil {
		t.Fatal(err)
	}
	if h := unpacked.Header; h.Name != "" || !h.ModTime.IsZero() || h.Comment != "" || len(h.Extra) > 0 {
		t.Errorf("the gzip header is %+v, want no name, time, comment or extra data", h)
	}
	return readArchive(t, tar.NewReader(unpacked))
}

// readArchive returns the YAML files of an archive as one stream. It also checks that the files are sorted by name,
// and that they have no owner and no modification time.
func readArchive(t *testing.T, archive *tar.Reader) []byte {
	t.Helper()
	var all []byte
	for last := ""; ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name <= last {
			t.Errorf("%s comes after %s", header.Name, last)
		}
		if path.Ext(header.Name) != ".yaml" || header.Typeflag != tar.TypeReg || header.Mode != 0o644 {
			t.Errorf("%s is no plain YAML file: type %c, mode %o", header.Name, header.Typeflag, header.Mode)
		}
		if !header.ModTime.Equal(time.Unix(0, 0)) || header.Uid != 0 || header.Gid != 0 || header.Uname+header.Gname != "" {
			t.Errorf("%s has an owner or a modification time: %+v", header.Name, header)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		all, last = append(append(all, "---\n"...), text...), header.Name
	}
}
