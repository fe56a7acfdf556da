//go:build unix

package bundles

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeepUnknown(t *testing.T) {
	first := map[string]string{"a.yaml": "1\n", "deep/b.yaml": "2\n"}
	cases := map[string]struct {
		before  []func(*testing.T, string)
		write   map[string]string
		kept    map[string]string
		refused []string
	}{
		"a file stays": {
			before: does(edit("notes.txt")), write: map[string]string{"a.yaml": "3\n"},
			kept: map[string]string{"notes.txt": "by hand\n"},
		},
		"a folder stays with all that is in it": {
			before: does(edit("own/deep/notes.txt"), edit("own/b.txt")), write: map[string]string{"a.yaml": "3\n"},
			kept: map[string]string{"own/deep/notes.txt": "by hand\n", "own/b.txt": "by hand\n"},
		},
		"names that come before a dot": {
			before: does(edit("#notes/b.txt"), edit("$"), edit("-x/y/z")), write: map[string]string{"a.yaml": "3\n", "!new/c.yaml": "4\n"},
			kept: map[string]string{"#notes/b.txt": "by hand\n", "$": "by hand\n", "-x/y/z": "by hand\n"},
		},
		"a file in a folder of ours stays when all of ours go": {
			before: does(edit("deep/notes.txt")), write: map[string]string{"a.yaml": "3\n"},
			kept: map[string]string{"deep/notes.txt": "by hand\n"},
		},
		"a symbolic link stays a link": {
			before: does(link("own/link")), write: map[string]string{"a.yaml": "3\n"},
			kept: map[string]string{"own/link": "-> " + os.DevNull},
		},
		"a file in a folder that becomes ours stays": {
			before: does(edit("new/notes.txt")), write: map[string]string{"new/a.yaml": "3\n"},
			kept: map[string]string{"new/notes.txt": "by hand\n"},
		},
		"a file in the place of one of ours is refused": {
			before: does(edit("c.yaml")), write: map[string]string{"c.yaml": "3\n"},
			refused: []string{"c.yaml (not ours, and in the way of what is generated)"},
		},
		"a file in the place of a folder of ours is refused": {
			before: does(edit("c")), write: map[string]string{"c/d.yaml": "3\n"},
			refused: []string{"c (not ours, and in the way of what is generated)"},
		},
		"a folder in the place of a file of ours is refused, and named once": {
			before: does(edit("c/d"), edit("c/e")), write: map[string]string{"c": "3\n"},
			refused: []string{"c/ (not ours, and in the way of what is generated)"},
		},
		"a file in a folder of ours that becomes a file is refused": {
			before: does(edit("deep/notes.txt")), write: map[string]string{"deep": "3\n"},
			refused: []string{"deep/notes.txt (not ours, and in the way of what is generated)"},
		},
		"a link in the place of a folder of ours is refused": {
			before: does(turn("deep")), write: first,
			refused: []string{"deep (not ours, and in the way of what is generated)"},
		},
		"a link in the place of the manifest is refused": {
			before: does(lose(ManifestName), link(ManifestName)), write: first,
			refused: []string{
				ManifestName + " (not ours, and in the way of what is generated)",
				"a.yaml (not ours, and in the way of what is generated)",
				"deep/b.yaml (not ours, and in the way of what is generated)",
			},
		},
		"an edited file is still refused": {
			before: does(edit("a.yaml"), edit("notes.txt")), write: first, refused: []string{"a.yaml (edited)"},
		},
	}
	for name, tc := range cases {
		for ability, link := range abilities {
			t.Run(name+ability, func(t *testing.T) {
				dir := bundle(t, first)
				for _, do := range tc.before {
					do(t, dir)
				}
				want := snapshot(t, dir)
				err := writeLinking(t, &Writer{KeepUnknown: true}, dir, tc.write, link)
				var refused *RefusedError
				switch {
				case tc.refused == nil && err != nil:
					t.Fatal(err)
				case tc.refused == nil:
					want = whole(t, tc.write)
					maps.Copy(want, tc.kept)
				case !errors.As(err, &refused):
					t.Fatalf("writing: %v, want it refused", err)
				default:
					if diff := cmp.Diff(tc.refused, refused.Files); diff != "" {
						t.Errorf("refused: -want +got:\n%s", diff)
					}
				}
				holds(t, dir, want)
				alone(t, dir)
			})
		}
	}
}

// abilities are ways to make hard links that file systems have.
var abilities = map[string]func(*os.Root, string, string) error{
	"":                  (*os.Root).Link,
	" where no link is": func(*os.Root, string, string) error { return syscall.EPERM },
}

func writeLinking(t *testing.T, w *Writer, dir string, files map[string]string, link func(*os.Root, string, string) error) error {
	t.Helper()
	defer w.Close()
	p, err := w.Plan(t.Context(), tree(t, files), dir)
	if err != nil {
		return err
	}
	p.place.link = link
	_, err = p.Write(t.Context())
	return err
}

// TestMountInTheFolder: a file system that is mounted there is not copied, and
// above all not emptied.
func TestMountInTheFolder(t *testing.T) {
	dir := bundle(t, map[string]string{"a": "1"})
	edit("mounted/file")(t, dir)
	want := snapshot(t, dir)
	err := writeLinking(t, &Writer{KeepUnknown: true}, dir, map[string]string{"a": "2"}, func(*os.Root, string, string) error { return syscall.EXDEV })
	if err == nil || !strings.Contains(err.Error(), "mounted/file: lies on another file system, and cannot be kept: unmount it first; nothing was changed") {
		t.Errorf("writing = %v", err)
	}
	holds(t, dir, want)
	alone(t, dir)
}

// TestKeptIsAsItWas: what is kept is the same file, or a copy that only its
// number tells from it.
func TestKeptIsAsItWas(t *testing.T) {
	for ability, link := range abilities {
		t.Run("kept"+ability, func(t *testing.T) { keptAsItWas(t, link, ability == "") })
	}
}

func keptAsItWas(t *testing.T, link func(*os.Root, string, string) error, pipes bool) {
	t.Helper()
	dir := bundle(t, map[string]string{"a": "1"})
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	edit("own/sub/file")(t, dir)
	if pipes { // can be linked, and not copied
		if err := syscall.Mkfifo(filepath.Join(dir, "own", "pipe"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]fs.FileMode{"own/sub/file": 0o461, "own/sub": 0o510, "own": 0o750 | fs.ModeSetgid} {
		at := filepath.Join(dir, path)
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"own/sub/file", "own/sub", "own"} {
		if err := os.Chtimes(filepath.Join(dir, path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	before := states(t, filepath.Join(dir, "own"))
	if err := writeLinking(t, &Writer{KeepUnknown: true}, dir, map[string]string{"a": "2"}, link); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, states(t, filepath.Join(dir, "own"))); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	if err := os.Chmod(filepath.Join(dir, "own", "sub"), 0o700); err != nil { // so that it can be removed
		t.Fatal(err)
	}
}

// states describes all below a folder by mode and time.
func states(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		found[strings.TrimPrefix(path, dir)] = info.Mode().String() + info.ModTime().String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestModesAreKept(t *testing.T) {
	dir := bundle(t, map[string]string{"a": "1", "b": "1", "sub/c": "1", "gone/d": "1"})
	modes := map[string]fs.FileMode{".": fs.ModeDir | fs.ModeSetgid | 0o750, "a": 0o600, "b": 0o660, "sub": fs.ModeDir | 0o711, "gone": fs.ModeDir | 0o500}
	for path, mode := range modes {
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t, &Writer{}, dir, map[string]string{"a": "2", "b": "1", "sub/c": "2", "new/e": "2"}); err != nil {
		t.Fatal(err)
	}
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	delete(modes, "gone")
	modes["new"], modes["new/e"] = fs.ModeDir|fs.ModeSetgid|0o777&^fs.FileMode(mask), 0o666&^fs.FileMode(mask)
	for path, mode := range modes {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != mode {
			t.Errorf("the mode of %s is %s, want %s", path, got, mode)
		}
	}
	alone(t, dir)
}

// TestWhatIsEqualIsNotTouched: neither its time nor its number changes; and a
// run that changes one file leaves the others as they are.
func TestWhatIsEqualIsNotTouched(t *testing.T) {
	files := map[string]string{"a": "1", "sub/b": "1"}
	dir := bundle(t, files)
	parent := filepath.Dir(dir)
	before := map[string]fs.FileInfo{}
	look := func(path string) fs.FileInfo {
		info, err := os.Stat(filepath.Join(parent, path))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	paths := []string{".", "bundle", "bundle/a", "bundle/sub", "bundle/sub/b", "bundle/" + ManifestName}
	for _, path := range paths {
		before[path] = look(path)
	}
	untouched := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			if now := look(path); !os.SameFile(before[path], now) || !now.ModTime().Equal(before[path].ModTime()) {
				t.Errorf("%s was touched", path)
			}
		}
	}
	if err := write(t, &Writer{}, dir, files); err != nil {
		t.Fatal(err)
	}
	untouched(paths...)
	if err := write(t, &Writer{}, dir, map[string]string{"a": "2", "sub/b": "1"}); err != nil {
		t.Fatal(err)
	}
	untouched("bundle/sub/b")
	if os.SameFile(before["bundle/a"], look("bundle/a")) {
		t.Error("a file was changed in place")
	}
}

func does(all ...func(*testing.T, string)) []func(*testing.T, string) { return all }

// turn makes a link of a folder, to the same folder elsewhere.
func turn(path string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Rename(filepath.Join(dir, path), elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
}
