package bundles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedFolders tries to write folders that cannot be replaced. Each error must be one line, and no file may
// change.
func TestRefusedFolders(t *testing.T) {
	cases := map[string]struct {
		at   func(t *testing.T, dir string) string // dir contains a bundle; the result is the folder to write
		want string
	}{
		"a symbolic link to a bundle": {
			at: func(t *testing.T, dir string) string {
				t.Helper()
				return symlink(t, dir, filepath.Join(t.TempDir(), "link"))
			},
			want: "link is a symbolic link: name the folder that it leads to",
		},
		"a symbolic link that leads nowhere": {
			at: func(t *testing.T, _ string) string {
				t.Helper()
				return symlink(t, "nowhere", filepath.Join(t.TempDir(), "link"))
			},
			want: "is a symbolic link",
		},
		"a folder below a link that leads nowhere": {
			at: func(t *testing.T, _ string) string {
				t.Helper()
				return filepath.Join(symlink(t, "nowhere", filepath.Join(t.TempDir(), "link")), "below")
			},
			want: "link: file exists",
		},
		"a file": {
			at:   func(_ *testing.T, dir string) string { return filepath.Join(dir, "a") },
			want: "a is not a directory",
		},
		"a folder below a file": {
			at:   func(_ *testing.T, dir string) string { return filepath.Join(dir, "a", "b", "c") },
			want: "not a directory",
		},
		"a name that is too long": {
			at:   func(_ *testing.T, dir string) string { return filepath.Join(dir, strings.Repeat("x", 300)) },
			want: "file name too long",
		},
		"a parent's name that is too long": {
			at:   func(_ *testing.T, dir string) string { return filepath.Join(dir, "new", strings.Repeat("x", 300), "y") },
			want: "file name too long",
		},
		"the root": {
			at:   func(*testing.T, string) string { return "/" },
			want: "/: the root of a file system cannot be replaced",
		},
		"the working directory": {
			at:   func(t *testing.T, dir string) string { t.Helper(); t.Chdir(dir); return "." },
			want: "the command would replace this folder, but the working directory",
		},
		"the working directory by its name": {
			at:   func(t *testing.T, dir string) string { t.Helper(); t.Chdir(dir); return dir },
			want: "the command would replace this folder, but the working directory",
		},
		"a folder above the working directory": {
			at: func(t *testing.T, dir string) string {
				t.Helper()
				t.Chdir(filepath.Join(dir, "sub"))
				return ".."
			},
			want: "the command would replace this folder, but the working directory",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a": "1", "sub/b": "1"}
			dir := writeBundle(t, files)
			_, err := tree(t, map[string]string{"a": "2"}).WriteDir(tc.at(t, dir), true)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("WriteDir() = %v, want one line with %q", err, tc.want)
			}
			checkFiles(t, dir, withManifest(t, files))
			noSiblings(t, dir)
		})
	}
}

func symlink(t *testing.T, to, at string) string {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestWorkingDirectoryCanBeCompared checks that the folder of a bundle can be the working directory if the bundle is up
// to date. Plan and Differences must accept this folder, because they only compare it with the tree. WriteDir refuses
// to replace the working directory. However, if the bundle is up to date, WriteDir replaces nothing, so it must also
// accept this folder.
func TestWorkingDirectoryCanBeCompared(t *testing.T) {
	files := map[string]string{"a": "1"}
	t.Chdir(writeBundle(t, files))
	w := &Writer{ReadOnly: true}
	p, err := w.Plan(t.Context(), tree(t, files), ".")
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if found := p.Differences(); len(found) > 0 {
		t.Errorf("Differences() = %v, want none", found)
	}
	if _, err := tree(t, files).WriteDir(".", false); err != nil {
		t.Errorf("writing an up-to-date folder: %v", err)
	}
}

func TestParentMayBeALink(t *testing.T) {
	dir := writeBundle(t, map[string]string{"a": "1"})
	parent := symlink(t, filepath.Dir(dir), filepath.Join(t.TempDir(), "link"))
	if _, err := tree(t, map[string]string{"a": "2"}).WriteDir(filepath.Join(parent, "bundle"), false); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, dir, withManifest(t, map[string]string{"a": "2"}))
}

// TestLinksAreNotFollowed: if somebody replaced a generated folder by a symbolic link, the link counts as an unknown
// file. Even if the field Force is true, a run does not write to the target of the link.
func TestLinksAreNotFollowed(t *testing.T) {
	dir := writeBundle(t, map[string]string{"deep/a": "1"})
	replaceByLink("deep")(t, dir)
	_, err := tree(t, map[string]string{"deep/a": "2"}).WriteDir(dir, true)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Files[0] != "deep (unknown)" {
		t.Errorf("WriteDir() = %v, want deep refused", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "deep", "a")); string(text) != "1" {
		t.Errorf("the target of the link is now %q, %v", text, err)
	}
}

// TestGitIsNotEntered: a run must report the folder .git as one unknown file, without reading its
// content. A Git repository can be large, and can contain files that the user cannot read.
func TestGitIsNotEntered(t *testing.T) {
	dir := writeBundle(t, map[string]string{"a": "1"})
	edit(".git/objects/pack")(t, dir)
	_, err := tree(t, map[string]string{"a": "2"}).WriteDir(dir, true)
	var refused *RefusedError
	if !errors.As(err, &refused) || len(refused.Files) != 1 || refused.Files[0] != ".git/ (unknown)" {
		t.Errorf("WriteDir() = %v, want .git/ refused", err)
	}
}

// TestReadOnlyWriter: a read-only Writer must not create directories, and Plan.Write must return an error.
func TestReadOnlyWriter(t *testing.T) {
	base := t.TempDir()
	w := &Writer{ReadOnly: true}
	defer w.Close()
	p, err := w.Plan(t.Context(), tree(t, map[string]string{"a": "1"}), filepath.Join(base, "x", "y", "z"))
	if err != nil {
		t.Fatal(err)
	}
	if found := p.Differences(); len(found) != 1 || found[0] != "a is missing" {
		t.Errorf("Differences() = %v", found)
	}
	if _, err := os.Stat(filepath.Join(base, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a comparison created parent directories, want none")
	}
	if _, err := p.Write(t.Context()); err == nil {
		t.Error("Write() of a read-only Writer succeeded, want an error")
	}
}
