// Package formats tests every bundle format with every example. The tests check that bundles/rendered contains the
// bundles that trainyard generates from the examples. They also check that all formats contain the same objects, and
// that the output does not depend on the machine.
package formats

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

// findExamples returns the paths of the platform documents in examples/, with the names of their folders as
// keys.
func findExamples(t *testing.T) map[string]string {
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

// generateBundles returns the bundles of a document. The keys are the names of the environments. If the document has
// no environments, the only key is ".".
func generateBundles(t *testing.T, layers ...generator.Input) map[string]bundles.Bundle {
	t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bundles.Bundle{}
	for _, p := range platforms {
		all[path.Join(".", p.Environment)] = bundles.Bundle{Platform: p.Name, Environment: p.Environment, Objects: p.Objects, Delivery: p.Delivery}
	}
	return all
}

func hasRequiredFields(t *testing.T, format bundles.Format, bundle bundles.Bundle) bool {
	t.Helper()
	var missing *bundles.MissingError
	_, err := format.Render(t.Context(), bundle)
	if err != nil && !errors.As(err, &missing) {
		t.Fatal(err)
	}
	return err == nil
}

func TestEveryFormatIsRendered(t *testing.T) {
	rendered := map[string]bool{}
	for _, file := range findExamples(t) {
		for _, bundle := range generateBundles(t, read(t, file)) {
			for _, format := range bundles.Formats() {
				rendered[format.Name()] = rendered[format.Name()] || hasRequiredFields(t, format, bundle)
			}
		}
	}
	for format, is := range rendered {
		if !is {
			t.Errorf("no example has all fields that the format %s needs", format)
		}
	}
}

func isCommitted(t *testing.T, format bundles.Format, bundle bundles.Bundle) bool {
	t.Helper()
	_, binary := format.(bundles.Binary)
	return !binary && hasRequiredFields(t, format, bundle)
}

func renderBundle(t *testing.T, format bundles.Format, bundle bundles.Bundle) bundles.Tree {
	t.Helper()
	tree, err := format.Render(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func read(t *testing.T, file string) generator.Input {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return generator.Input{Name: file, Text: text}
}

// TestRenderedIsTrue checks that bundles/rendered contains the bundles that trainyard generates from the examples,
// except bundles in binary formats. With TRAINYARD_UPDATE=1 in the environment, the test updates bundles/rendered.
func TestRenderedIsTrue(t *testing.T) {
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			for _, format := range bundles.Formats() {
				if !isCommitted(t, format, bundle) {
					continue
				}
				t.Run(path.Join(name, format.Name(), environment), func(t *testing.T) {
					tree := renderBundle(t, format, bundle).WithInventory(bundle.Objects)
					committed := repo.Path(t, "bundles", "rendered", name, format.Name(), environment)
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
}

// TestNothingElseIsRendered checks that bundles/rendered has no files of removed examples, environments or formats.
func TestNothingElseIsRendered(t *testing.T) {
	known := map[string]bool{}
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			for _, format := range bundles.Formats() {
				if !isCommitted(t, format, bundle) {
					continue
				}
				tree := renderBundle(t, format, bundle)
				folder := path.Join(name, format.Name(), environment)
				known[path.Join(folder, bundles.ManifestName)] = true
				for _, f := range tree.Files() {
					known[path.Join(folder, f.Path)] = true
				}
			}
		}
	}
	for _, file := range repo.Files(t) {
		rest, rendered := strings.CutPrefix(file, "bundles/rendered/")
		if rendered && !known[rest] {
			t.Errorf("%s belongs to no existing example, environment or format", file)
		}
	}
}

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
