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

// Archive returns the files as a tar archive that is compressed with gzip. The archive contains the files in the
// given order. The archive contains no times, owners or folders. The bytes of the archive depend only on the files.
// Go's own gzip package is not used, because its output can change between Go releases. Instead, a library with a
// fixed version compresses the archive.
func Archive(files []Entry) ([]byte, error) {
	archive, _, err := compressedTar(files)
	return archive, err
}

// compressedTar returns the compressed archive, and the digest of the tar archive before
// compression.
func compressedTar(files []Entry) (compressed []byte, unpacked v1.Hash, err error) {
	hash := sha256.New()
	compressed, err = Gzip(func(compressor io.Writer) error {
		w := tar.NewWriter(io.MultiWriter(compressor, hash))
		for _, f := range files {
			if err := write(w, f); err != nil {
				return fmt.Errorf("archiving %s: %w", f.Path, err)
			}
		}
		return w.Close()
	})
	return compressed, v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", hash.Sum(nil))}, err
}

// Gzip compresses the output of the function "write" at gzip's highest compression level. Gzip returns the same bytes
// for the same content on every machine.
func Gzip(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w.ModTime = time.Unix(0, 0) // in gzip, this value means "no time"; the library writes another time by default
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

// OfFiles returns an artifact with the files in one layer. The artifact's configuration has the media type of a
// container image's configuration, because some registries refuse all other types.
func OfFiles(files []Entry, annotations map[string]string) (Artifact, error) {
	layer, unpacked, err := compressedTar(files)
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

// image contains the fields that the OCI specification requires of an image configuration.
type image struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	RootFS       v1.RootFS `json:"rootfs"`
}
