package bundles

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func edit(path string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("by hand\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func removeFile(path string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
}

// padFile returns a function that inserts a comment of maxManifest bytes at the start of a file. If the file is a
// manifest, its list of files then follows the comment. A run reads only the first maxManifest bytes of a manifest. The
// run therefore reads only the comment, and finds no list of files.
func padFile(path string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, slices.Concat(bytes.Repeat([]byte("#"), maxManifest), []byte("\n"), text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func link(path string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(os.DevNull, path); err != nil {
			t.Fatal(err)
		}
	}
}

func takeSnapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			files[name] = "-> " + to
			return err
		}
		text, err := os.ReadFile(path)
		files[name] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

func noSiblings(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(dir) {
			t.Errorf("%s lies next to the folder, want nothing", e.Name())
		}
	}
}

func writeBundle(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "parent", "bundle")
	if _, err := tree(t, files).WriteDir(dir, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func withManifest(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	want := map[string]string{ManifestName: string(tree(t, files).buildManifest())}
	maps.Copy(want, files)
	return want
}

func checkFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, takeSnapshot(t, dir)); diff != "" {
		t.Errorf("the folder: -want +got:\n%s", diff)
	}
}

// write calls Plan and Write of a Writer, and then closes the Writer.
func write(t *testing.T, w *Writer, dir string, files map[string]string) error {
	t.Helper()
	defer w.Close()
	p, err := w.Plan(t.Context(), tree(t, files), dir)
	if err != nil {
		return err
	}
	_, err = p.Write(t.Context())
	return err
}
