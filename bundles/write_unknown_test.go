//go:build unix

package bundles

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
		"a folder stays with its contents": {
			before: does(edit("own/deep/notes.txt"), edit("own/b.txt")), write: map[string]string{"a.yaml": "3\n"},
			kept: map[string]string{"own/deep/notes.txt": "by hand\n", "own/b.txt": "by hand\n"},
		},
		"names that sort before a dot": {
			before: does(edit("#notes/b.txt"), edit("$"), edit("-x/y/z")), write: map[string]string{"a.yaml": "3\n", "!new/c.yaml": "4\n"},
			kept: map[string]string{"#notes/b.txt": "by hand\n", "$": "by hand\n", "-x/y/z": "by hand\n"},
		},
		"a file stays when all generated files of its folder are removed": {
			before: does(edit("deep/notes.txt")), write: map[string]string{"a.yaml": "3\n"},
			kept: map[string]string{"deep/notes.txt": "by hand\n"},
		},
		"a symbolic link stays a link": {
			before: does(link("own/link")), write: map[string]string{"a.yaml": "3\n"},
			kept: map[string]string{"own/link": "-> " + os.DevNull},
		},
		"a file in a folder that gets generated files stays": {
			before: does(edit("new/notes.txt")), write: map[string]string{"new/a.yaml": "3\n"},
			kept: map[string]string{"new/notes.txt": "by hand\n"},
		},
		"a file in the place of a generated file is refused": {
			before: does(edit("c.yaml")), write: map[string]string{"c.yaml": "3\n"},
			refused: []string{"c.yaml (unknown, and its path conflicts with a generated file)"},
		},
		"a file in the place of a generated folder is refused": {
			before: does(edit("c")), write: map[string]string{"c/d.yaml": "3\n"},
			refused: []string{"c (unknown, and its path conflicts with a generated file)"},
		},
		"a folder in the place of a generated file is listed once": {
			before: does(edit("c/d"), edit("c/e")), write: map[string]string{"c": "3\n"},
			refused: []string{"c/ (unknown, and its path conflicts with a generated file)"},
		},
		"a file in a folder that becomes a generated file is refused": {
			before: does(edit("deep/notes.txt")), write: map[string]string{"deep": "3\n"},
			refused: []string{"deep/notes.txt (unknown, and its path conflicts with a generated file)"},
		},
		"a link in the place of a generated folder is refused": {
			before: does(replaceByLink("deep")), write: first,
			refused: []string{"deep (unknown, and its path conflicts with a generated file)"},
		},
		"a link in the place of the manifest is refused": {
			before: does(removeFile(ManifestName), link(ManifestName)), write: first,
			refused: []string{
				ManifestName + " (unknown, and its path conflicts with a generated file)",
				"a.yaml (unknown, and its path conflicts with a generated file)",
				"deep/b.yaml (unknown, and its path conflicts with a generated file)",
			},
		},
		"an edited file is still refused": {
			before: does(edit("a.yaml"), edit("notes.txt")), write: first, refused: []string{"a.yaml (edited)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := writeBundle(t, first)
			for _, do := range tc.before {
				do(t, dir)
			}
			want := takeSnapshot(t, dir)
			err := write(t, &Writer{KeepUnknown: true}, dir, tc.write)
			var refused *RefusedError
			switch {
			case tc.refused == nil && err != nil:
				t.Fatal(err)
			case tc.refused == nil:
				want = withManifest(t, tc.write)
				maps.Copy(want, tc.kept)
			case !errors.As(err, &refused):
				t.Fatalf("writing: %v, want it refused", err)
			default:
				if diff := cmp.Diff(tc.refused, refused.Files); diff != "" {
					t.Errorf("refused: -want +got:\n%s", diff)
				}
			}
			checkFiles(t, dir, want)
			noSiblings(t, dir)
		})
	}
}

// TestNoHardLinks checks what a run does if it cannot create hard links. In this case, the run must write unchanged
// files again. If the folder contains unknown files, the run must fail, because a run can keep unknown files only with
// hard links. The run must also fail if an unchanged file is in a mounted folder, because such a folder cannot be
// replaced.
func TestNoHardLinks(t *testing.T) {
	cases := map[string]struct {
		before []func(*testing.T, string)
		err    error
		want   string // substring of the error; empty if the write succeeds
	}{
		"an unchanged file": {err: syscall.EPERM},
		"an unknown file": {
			before: does(edit("own/notes")), err: syscall.EPERM,
			want: "cannot keep the unknown file own/notes: creating a hard link to it failed: operation not permitted: move the file away, or write to another folder; nothing was changed",
		},
		"an unknown file in a mount": {
			before: does(edit("own/notes")), err: syscall.EXDEV,
			want: "cannot keep the unknown file own/notes: creating a hard link to it failed: invalid cross-device link: move the file away, or write to another folder; nothing was changed",
		},
		"an unchanged file in a mount": {err: syscall.EXDEV, want: "b: is in a mounted folder, which cannot be replaced: unmount this folder, or write to a folder inside the mounted folder; nothing was changed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a": "2", "b": "1"}
			dir := writeBundle(t, map[string]string{"a": "1", "b": "1"})
			for _, do := range tc.before {
				do(t, dir)
			}
			want := takeSnapshot(t, dir)
			w := &Writer{KeepUnknown: true}
			defer w.Close()
			p, err := w.Plan(t.Context(), tree(t, files), dir)
			if err != nil {
				t.Fatal(err)
			}
			p.parent.link = func(_ *os.Root, name, _ string) error {
				if tc.before != nil && !strings.Contains(name, "own") {
					return syscall.EPERM
				}
				return tc.err
			}
			_, err = p.Write(t.Context())
			if tc.want == "" {
				want = withManifest(t, files)
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Write() = %v, want %q", err, tc.want)
			}
			checkFiles(t, dir, want)
			noSiblings(t, dir)
		})
	}
}

// TestUnknownFilesAreTheSame: a write must not change unknown files and folders. The inode, the mode and the
// modification time of each unknown file must stay the same. The mode of each unknown folder must stay the same.
func TestUnknownFilesAreTheSame(t *testing.T) {
	dir := writeBundle(t, map[string]string{"a": "1"})
	edit("own/sub/file")(t, dir)
	if err := syscall.Mkfifo(filepath.Join(dir, "own", "pipe"), 0o640); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]fs.FileMode{"own/sub/file": 0o461, "own/sub": 0o510, "own": 0o750 | fs.ModeSetgid} {
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	before := fileStates(t, filepath.Join(dir, "own"))
	if err := write(t, &Writer{KeepUnknown: true}, dir, map[string]string{"a": "2"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, fileStates(t, filepath.Join(dir, "own"))); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	if err := os.Chmod(filepath.Join(dir, "own", "sub"), 0o700); err != nil { // for the cleanup of the test
		t.Fatal(err)
	}
}

func fileStates(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		state := info.Mode().String()
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !d.IsDir() {
			state += fmt.Sprint(" ", stat.Ino, info.ModTime())
		}
		found[strings.TrimPrefix(path, dir)] = state
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestModesAreKept(t *testing.T) {
	dir := writeBundle(t, map[string]string{"a": "1", "b": "1", "sub/c": "1", "gone/d": "1"})
	modes := map[string]fs.FileMode{".": fs.ModeDir | 0o750, "a": 0o600, "b": 0o660, "sub": fs.ModeDir | 0o711, "gone": fs.ModeDir | 0o500}
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
	modes["new"], modes["new/e"] = fs.ModeDir|0o777&^fs.FileMode(mask), 0o666&^fs.FileMode(mask)
	for path, mode := range modes {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != mode {
			t.Errorf("the mode of %s is %s, want %s", path, got, mode)
		}
	}
	noSiblings(t, dir)
}

func TestUnchangedFilesAreNotTouched(t *testing.T) {
	files := map[string]string{"a": "1", "sub/b": "1"}
	dir := writeBundle(t, files)
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

// replaceByLink returns a function that moves a file or folder to another place. The function then creates a symbolic
// link from the original path to the new place.
func replaceByLink(path string) func(*testing.T, string) {
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
