package images

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/trainyard/trainyard/test/repo"
)

func TestWheelFilesAreInstalledByKind(t *testing.T) {
	for name, want := range map[string]string{
		"mpi4py/__init__.py":                  "opt/mpi/lib/python3.11/site-packages/mpi4py/__init__.py",
		"mpich-5.0.2.data/data/bin/mpirun":    "opt/mpi/bin/mpirun",
		"mpich-5.0.2.data/scripts/mpi-config": "opt/mpi/bin/mpi-config",
		"mpich-5.0.2.dist-info/METADATA":      "opt/mpi/lib/python3.11/site-packages/mpich-5.0.2.dist-info/METADATA",
	} {
		if got := installPath(name); got != want {
			t.Errorf("installPath(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestArchiveContainsTheImage reads the archive of the pause image as a container runtime does.
func TestArchiveContainsTheImage(t *testing.T) {
	dir := t.TempDir()
	program, archive := filepath.Join(dir, "pause"), filepath.Join(dir, "pause.tar")
	if err := os.WriteFile(program, []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Pause(program, archive); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/pause"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint: -want +got:\n%s", diff)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("got %d layers, %v, want one", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(content)
	header, err := files.Next()
	if err != nil || header.Name != "pause" || header.Mode != 0o755 {
		t.Fatalf("the first file is %v, %v, want pause with mode 0755", header, err)
	}
	if text, err := io.ReadAll(files); string(text) != "a program" {
		t.Errorf("the file contains %q, %v, want the program", text, err)
	}
}

// TestDefinitionDependsOnContent checks that a change to an image also changes the digest of its definition, so that
// the archive of the image is built again.
func TestDefinitionDependsOnContent(t *testing.T) {
	for name, change := range map[string]func(*Image){
		"another version of a wheel": func(i *Image) { i.wheels = []string{"mpich==5.0.1"} },
		"an additional package":      func(i *Image) { i.packages = append([]string{"gcc"}, i.packages...) },
		"an additional program":      func(i *Image) { i.programs = []string{"train.py"} },
	} {
		t.Run(name, func(t *testing.T) {
			image := All["mpich"]
			before := define(t, image)
			change(&image)
			if after := define(t, image); before == after {
				t.Errorf("the definition is %s before and after the change", after)
			}
		})
	}
}

func define(t *testing.T, image Image) string {
	t.Helper()
	definition, err := image.definitionDigest()
	if err != nil {
		t.Fatal(err)
	}
	return definition
}

func TestCurrentComparesDefinitions(t *testing.T) {
	cases := map[string]struct {
		archive, from bool
		want          bool
	}{
		"an archive with its definition": {archive: true, from: true, want: true},
		"a missing archive":              {from: true},
		"an incomplete archive":          {archive: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			archive := filepath.Join(t.TempDir(), "image.tar")
			for path, exists := range map[string]bool{archive: tc.archive, archive + ".from": tc.from} {
				if !exists {
					continue
				}
				if err := os.WriteFile(path, []byte("definition"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := isCurrent(archive, "definition"); got != tc.want {
				t.Errorf("current() = %v, want %v", got, tc.want)
			}
			if isCurrent(archive, "another definition") {
				t.Error("current() = true for another definition, want false")
			}
		})
	}
}

func TestExampleDockerfileHasTheTestedPackages(t *testing.T) {
	text, err := os.ReadFile(repo.Path(t, "examples/images/debian.Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "--no-install-recommends")
	list, _, _ := strings.Cut(rest, "&&")
	got := strings.Fields(strings.ReplaceAll(list, "\\", ""))
	if diff := cmp.Diff(All["training"].packages, got); diff != "" {
		t.Errorf("packages: -tested +example:\n%s", diff)
	}
}
