package artifact

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// Entry is a file of an archive.
type Entry struct {
	Path    string // relative, with slashes
	Content interface {
		io.WriterTo
		Len() int
	}
}

// Archive writes files, in the order given, as a tar archive in gzip. It holds neither times nor
// owners, and no folders: those who unpack it make them. The bytes depend on the files alone: the
// compression is a library's of a fixed version, because Go's own differs from release to release.
func Archive(files []Entry) ([]byte, error) {
	archive, _, err := archived(files)
	return archive, err
}

// archived returns the digest of the tar archive, too.
func archived(files []Entry) (compressed []byte, unpacked v1.Hash, err error) {
	hash := sha256.New()
	compressed, err = Gzip(func(pressed io.Writer) error {
		w := tar.NewWriter(io.MultiWriter(pressed, hash))
		for _, f := range files {
			if err := write(w, f); err != nil {
				return fmt.Errorf("archiving %s: %w", f.Path, err)
			}
		}
		return w.Close()
	})
	return compressed, v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", hash.Sum(nil))}, err
}

// Gzip compresses what write writes, as well as gzip can. The same text is the same bytes everywhere.
func Gzip(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w.ModTime = time.Unix(0, 0) // no time: the library would write one of its own
	if err := write(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func write(w *tar.Writer, f Entry) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Size: int64(f.Content.Len()), Mode: 0o644}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := f.Content.WriteTo(w)
	return err
}

// OfFiles is an artifact of one layer that holds the files. It is an image like any other, without a
// program, because each registry takes those: some refuse configurations that they do not know.
func OfFiles(files []Entry, annotations map[string]string) (Artifact, error) {
	layer, unpacked, err := archived(files)
	if err != nil {
		return Artifact{}, err
	}
	config, err := json.Marshal(image{Architecture: "amd64", OS: "linux", RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{unpacked}}})
	if err != nil {
		return Artifact{}, fmt.Errorf("writing the configuration of an artifact: %w", err)
	}
	return Artifact{
		Config:      Blob{types.OCIConfigJSON, config},
		Layers:      []Blob{{types.OCILayer, layer}},
		Annotations: annotations,
	}, nil
}

// image is the configuration of an image, as far as its specification wants one.
type image struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	RootFS       v1.RootFS `json:"rootfs"`
}
