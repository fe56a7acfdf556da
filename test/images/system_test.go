//go:build linux

package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/trainyard/trainyard/test/repo"
)

// system is the unpacked file system of an image. Programs run in the unpacked file system as they do in a pod:
// with the image's environment, and with a user id that has no entry in the image's passwd file.
type system struct {
	dir         string
	environment []string
}

// unpackImage unpacks an image into a temporary folder. Programs of the image run with chroot, which needs root.
// The environment variable TRAINYARD_E2E permits tests that need root. If the variable is not set, unpackImage
// skips the test.
func unpackImage(t *testing.T, name string) system {
	t.Helper()
	if os.Getenv("TRAINYARD_E2E") == "" {
		t.Skip("needs root and images: run `make e2e`")
	}
	image, err := tarball.ImageFromPath(archivePath(t, name), nil)
	if err != nil {
		t.Fatalf("%v: run `make images`", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	s := system{dir: t.TempDir(), environment: config.Config.Env}
	s.unpack(t, image)
	return s
}

func archivePath(t *testing.T, name string) string {
	t.Helper()
	return repo.Path(t, ".tools", "images", name+".tar")
}

func (s system) unpack(t *testing.T, image v1.Image) {
	t.Helper()
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	tar := exec.Command("tar", "-x", "-p", "-C", s.dir)
	tar.Stdin = files
	if out, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("unpacking: %v: %s", err, out)
	}
}

// enterScript mounts file systems in an unpacked image, and runs a command there. The script runs in a new mount
// namespace, so the mounts disappear when the command ends.
const enterScript = `
set -eu
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/dev/shm"
exec chroot --userspec=12345:0 --groups=0 "$root" "$@"`

func (s system) run(stdin string, command ...string) (string, error) {
	args := append([]string{"--mount", "--propagation=private", "sh", "-c", enterScript, "enter", s.dir}, command...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append([]string{"HOME=/tmp"}, s.environment...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// read returns the content of a file in the unpacked image.
func (s system) read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
