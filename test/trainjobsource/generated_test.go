package trainjobsource

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// TestAPICodeIsGenerated checks that the generated DeepCopy methods and CRDs are up to date. If TRAINYARD_UPDATE=1 is
// set, the test does not compare the generated files, but writes them to the repository.
func TestAPICodeIsGenerated(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(repo.Tool(t, "controller-gen"), "object", "crd", "paths=./api/v1alpha1",
		"output:object:dir="+filepath.Join(dir, "api", "v1alpha1"), "output:crd:dir="+filepath.Join(dir, "api", "crds"))
	cmd.Dir = repo.Path(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen: %v\n%s", err, out)
	}
	for _, pattern := range []string{"api/v1alpha1/zz_generated.deepcopy.go", "api/crds/*.yaml"} {
		written := glob(t, dir, pattern)
		if len(written) == 0 {
			t.Errorf("controller-gen wrote no %s", pattern)
		}
		for _, file := range glob(t, repo.Path(t), pattern) {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("controller-gen does not write %s: remove the file", file)
			}
		}
		for _, file := range written {
			compareGenerated(t, filepath.Join(dir, file), repo.Path(t, file))
		}
	}
}

func compareGenerated(t *testing.T, generated, committed string) {
	t.Helper()
	want, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TRAINYARD_UPDATE") != "" {
		if err := os.WriteFile(committed, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(committed); err != nil || !bytes.Equal(want, got) {
		t.Errorf("%s is not up to date: run `make update` (%v)", committed, err)
	}
}

// glob returns the paths of files in a folder that match the pattern. The paths are relative to the folder.
func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		if found[i], err = filepath.Rel(dir, found[i]); err != nil {
			t.Fatal(err)
		}
	}
	return found
}
