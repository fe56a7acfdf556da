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

// system is the file system of an image, unpacked, to run programs in as a pod would: with
// the image's environment, by a user that the image does not know.
type system struct {
	dir         string
	environment []string
}

// unpacked is an image that `make images` has made. Entering it needs root.
func unpacked(t *testing.T, name string) system {
	t.Helper()
	if os.Getenv("TRAINYARD_E2E") == "" {
		t.Skip("needs root and images: run `make e2e`")
	}
	image, err := tarball.ImageFromPath(archive(t, name), nil)
	if err != nil {
		t.Fatalf("%v: `make images` makes it", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	s := system{dir: t.TempDir(), environment: config.Config.Env}
	s.unpack(t, image)
	return s
}

// archive is where `make images` puts an image.
func archive(t *testing.T, name string) string {
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

// enter gives a process what every container has, in a mount namespace that goes with it.
const enter = `
set -eu
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/dev/shm"
exec chroot --userspec=12345:0 --groups=0 "$root" "$@"`

// run returns what a command prints on both streams, and how it ended.
func (s system) run(stdin string, command ...string) (string, error) {
	args := append([]string{"--mount", "--propagation=private", "sh", "-c", enter, "enter", s.dir}, command...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append([]string{"HOME=/tmp"}, s.environment...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// read returns a file of the image, or of what ran in it.
func (s system) read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
