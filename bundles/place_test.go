package bundles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhereWeDoNotWrite: each of these is refused in one sentence, and touches nothing.
func TestWhereWeDoNotWrite(t *testing.T) {
	cases := map[string]struct {
		at   func(t *testing.T, dir string) string // what to write to, given a bundle
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
		"the current folder": {
			at:   func(t *testing.T, dir string) string { t.Helper(); t.Chdir(dir); return "." },
			want: "the current folder is this one or lies in it",
		},
		"the current folder by its name": {
			at:   func(t *testing.T, dir string) string { t.Helper(); t.Chdir(dir); return dir },
			want: "the current folder is this one or lies in it",
		},
		"a folder above the current one": {
			at: func(t *testing.T, dir string) string {
				t.Helper()
				t.Chdir(filepath.Join(dir, "sub"))
				return ".."
			},
			want: "the current folder is this one or lies in it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a": "1", "sub/b": "1"}
			dir := bundle(t, files)
			_, err := tree(t, map[string]string{"a": "2"}).WriteDir(tc.at(t, dir), true)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("WriteDir() = %v, want one line with %q", err, tc.want)
			}
			holds(t, dir, whole(t, files))
			alone(t, dir)
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

// TestCurrentFolderCanBeChecked: nothing is replaced, so nothing is in the way.
func TestCurrentFolderCanBeChecked(t *testing.T) {
	files := map[string]string{"a": "1"}
	t.Chdir(bundle(t, files))
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
		t.Errorf("writing what is there already: %v", err)
	}
}

func TestParentMayBeALink(t *testing.T) {
	dir := bundle(t, map[string]string{"a": "1"})
	parent := symlink(t, filepath.Dir(dir), filepath.Join(t.TempDir(), "link"))
	if _, err := tree(t, map[string]string{"a": "2"}).WriteDir(filepath.Join(parent, "bundle"), false); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, whole(t, map[string]string{"a": "2"}))
}

// TestLinksAreNotFollowed: a folder of ours that somebody moved away and linked
// to is theirs now, and force is no permission to write there.
func TestLinksAreNotFollowed(t *testing.T) {
	dir := bundle(t, map[string]string{"deep/a": "1"})
	turn("deep")(t, dir)
	_, err := tree(t, map[string]string{"deep/a": "2"}).WriteDir(dir, true)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Files[0] != "deep (not ours)" {
		t.Errorf("WriteDir() = %v, want deep refused", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "deep", "a")); string(text) != "1" {
		t.Errorf("what the link leads to is now %q, %v", text, err)
	}
}

// TestGitIsNamedAndNotEntered: a repository can be large, and can have files
// that not even its owner may read.
func TestGitIsNamedAndNotEntered(t *testing.T) {
	dir := bundle(t, map[string]string{"a": "1"})
	edit(".git/objects/pack")(t, dir)
	_, err := tree(t, map[string]string{"a": "2"}).WriteDir(dir, true)
	var refused *RefusedError
	if !errors.As(err, &refused) || len(refused.Files) != 1 || refused.Files[0] != ".git/ (not ours)" {
		t.Errorf("WriteDir() = %v, want .git/ refused", err)
	}
}

// TestFailureLeavesNoParents: parent folders that were made go again, unless
// somebody has put something there.
func TestFailureLeavesNoParents(t *testing.T) {
	base := t.TempDir()
	broken := tree(t, map[string]string{"a": "1", "a/b": "2"})
	if _, err := broken.WriteDir(filepath.Join(base, "x", "y", "z"), false); err == nil {
		t.Fatal("WriteDir() of an impossible tree worked")
	}
	if _, err := os.Stat(filepath.Join(base, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the parent folders are still there")
	}
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
		t.Error("looking made parent folders")
	}
	if _, err := p.Write(t.Context()); err == nil {
		t.Error("a Writer for reading wrote")
	}
}
