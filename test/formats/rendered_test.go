// Package formats holds every format against every example: the committed
// rendering is what generate writes, all formats hold the same objects, and
// neither depends on where and how the program runs.
package formats

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/test/repo"
)

// examples lists the platform documents, keyed by the folder that their rendering has.
func examples(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, file := range repo.Files(t) {
		folder, name := path.Split(file)
		if strings.HasPrefix(file, "examples/") && strings.HasPrefix(name, "platform") {
			found[path.Base(folder)] = file
		}
	}
	if len(found) == 0 {
		t.Fatal("no examples found")
	}
	return found
}

func generate(t *testing.T, file string) object.Set {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, file))
	if err != nil {
		t.Fatal(err)
	}
	set, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Input{Name: file, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestRenderedIsTrue: bundles/rendered is what generate writes today.
// TRAINYARD_UPDATE=1 writes it.
func TestRenderedIsTrue(t *testing.T) {
	for name, file := range examples(t) {
		for _, format := range bundles.Formats() {
			t.Run(name+"/"+format.Name(), func(t *testing.T) {
				tree, err := format.Render(t.Context(), generate(t, file))
				if err != nil {
					t.Fatal(err)
				}
				committed := repo.Path(t, "bundles", "rendered", name, format.Name())
				if os.Getenv("TRAINYARD_UPDATE") != "" {
					if _, err := tree.WriteDir(committed, true); err != nil {
						t.Fatal(err)
					}
				}
				fresh := filepath.Join(t.TempDir(), "fresh")
				if _, err := tree.WriteDir(fresh, false); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(readFolder(t, committed), readFolder(t, fresh)); diff != "" {
					t.Errorf("run `make update` and review: -committed +generated:\n%s", diff)
				}
			})
		}
	}
}

// TestNothingElseIsRendered: a rendering whose example or format is gone is stale.
func TestNothingElseIsRendered(t *testing.T) {
	known := examples(t)
	for _, file := range repo.Files(t) {
		rest, rendered := strings.CutPrefix(file, "bundles/rendered/")
		if !rendered {
			continue
		}
		parts := strings.SplitN(rest, "/", 3)
		_, example := known[parts[0]]
		_, format := bundles.Named(parts[1])
		if !example || !format {
			t.Errorf("%s is of no example or format that exists", file)
		}
	}
}

// readFolder reads every file of a folder, by path with slashes.
func readFolder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		relative, _ := filepath.Rel(dir, p)
		files[filepath.ToSlash(relative)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
