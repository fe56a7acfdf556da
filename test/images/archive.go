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

// PauseName is the name of the pause image, from which the container runtime starts the first process of every pod.
const PauseName = "localhost/pause:sandbox"

// Pause writes an archive of the pause image. The pause image contains only the given static
// program.
func Pause(program, archive string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("building the pause image: %w", err)
	}
	layer, err := newLayer(file{"pause", 0o755, 0, string(content)})
	if err != nil {
		return err
	}
	return write(archive, PauseName, v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}, layer)
}

// write stores an image in an archive that container runtimes can import.
func write(archive, imageName string, config v1.Config, layers ...v1.Layer) error {
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return fmt.Errorf("assembling %s: %w", imageName, err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("assembling %s: %w", imageName, err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return fmt.Errorf("assembling %s: %w", imageName, err)
	}
	tag, err := name.NewTag(imageName)
	if err != nil {
		return fmt.Errorf("naming an image: %w", err)
	}
	if err := tarball.WriteToFile(archive, tag, image); err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	return nil
}

// file describes one file of an image layer.
type file struct {
	path    string
	mode    int64
	owner   int // user and group
	content string
}

// newLayer returns a layer that contains the given files. The same files always give the same layer.
func newLayer(files ...file) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{
			Name: f.path, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)), Typeflag: tar.TypeReg,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("writing a layer: %w", err)
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			return nil, fmt.Errorf("writing a layer: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("writing a layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	})
}
