package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// PauseName is the image of every pod's first process.
const PauseName = "localhost/pause:sandbox"

// Pause writes an archive of the pause image around a static program.
func Pause(program, archive string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	layer, err := layerOf(file{"pause", 0o755, 0, string(content)})
	if err != nil {
		return err
	}
	return write(archive, PauseName, v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}, layer)
}

// write makes an archive of an image, which container runtimes import.
func write(archive, as string, config v1.Config, layers ...v1.Layer) error {
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return fmt.Errorf("putting %s together: %w", as, err)
	}
	of, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("putting %s together: %w", as, err)
	}
	of = of.DeepCopy()
	of.OS, of.Architecture, of.Config = "linux", runtime.GOARCH, config
	if image, err = mutate.ConfigFile(image, of); err != nil {
		return fmt.Errorf("putting %s together: %w", as, err)
	}
	tag, err := name.NewTag(as)
	if err != nil {
		return fmt.Errorf("naming an image: %w", err)
	}
	if err := tarball.WriteToFile(archive, tag, image); err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	return nil
}

// file is one file of a layer, and whose it is.
type file struct {
	path    string
	mode    int64
	owner   int // user and group
	content string
}

// layerOf is a layer of a few files; equal files make equal layers.
func layerOf(files ...file) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{
			Name: f.path, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)), Typeflag: tar.TypeReg,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("making a layer: %w", err)
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			return nil, fmt.Errorf("making a layer: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("making a layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	})
}
