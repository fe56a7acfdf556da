//go:build linux

package crash

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trainyard/trainyard/bundles"
)

// smallDiskFiles is the number of generated files that a test writes to a small disk.
const smallDiskFiles = 1000

func mountFileSystem(t *testing.T, source, at, kind string, flags uintptr, options string) {
	t.Helper()
	if err := unix.Mount(source, at, kind, flags, options); err != nil {
		t.Fatalf("mounting %s at %s needs root: %v", kind, at, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", at, err)
		}
	})
}

func mountDisk(t *testing.T, options string) string {
	t.Helper()
	at := t.TempDir()
	mountFileSystem(t, "none", at, "tmpfs", 0, options)
	return at
}

// runFailing runs a child process with the instructions in o. The process must fail, change nothing, and print one
// line, which contains the argument "want".
func (o order) runFailing(t *testing.T, as *syscall.Credential, want string) {
	t.Helper()
	before, err := findTree(o.Dir, o.Files, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, code := o.execute(t, as)
	if code != 1 || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
		t.Errorf("it ended with %d: %swant 1 and one line with %q", code, out, want)
	}
	if after, err := findTree(o.Dir, o.Files, 0, 1); err != nil || after != before {
		t.Errorf("the folder holds tree %d (%v), want %d", after, err, before)
	}
	if left := listSiblings(t, o.Dir); len(left) > 0 {
		t.Errorf("%v lies next to the folder, want nothing", left)
	}
}

func TestFullDisk(t *testing.T) {
	skipUnlessRequested(t)
	for name, options := range map[string]string{
		"no room for files": "size=6m",
		"no more files":     "nr_inodes=1400",
	} {
		t.Run(name, func(t *testing.T) {
			o := order{Dir: filepath.Join(mountDisk(t, options), "bundle"), Files: smallDiskFiles, Trees: []int{0}}
			o.mustRun(t)
			o.Trees = []int{1}
			o.runFailing(t, nil, "no space left on device; nothing was changed")
		})
	}
	t.Run("no room for the first folder", func(t *testing.T) {
		base := mountDisk(t, "size=2m")
		o := order{Dir: filepath.Join(base, "new", "bundle"), Files: smallDiskFiles, Trees: []int{0}}
		if out, code := o.execute(t, nil); code != 1 || !strings.Contains(out, "no space left on device; nothing was changed") {
			t.Errorf("it ended with %d: %s", code, out)
		}
		if left := listSiblings(t, filepath.Join(base, "new", "bundle")); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
	})
}

func TestReadOnlyDisk(t *testing.T) {
	skipUnlessRequested(t)
	base := mountDisk(t, "")
	o := order{Dir: filepath.Join(base, "bundle"), Files: fewFiles, Trees: []int{0}}
	o.mustRun(t)
	if err := unix.Mount("none", base, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	o.mustRun(t) // succeeds, because the folder is up to date
	upToDate(t, o.Dir, 0)
	o.Trees = []int{1}
	o.runFailing(t, nil, "creating a staging folder next to the target folder: read-only file system")
	o.Dir = filepath.Join(base, "new", "bundle")
	if out, code := o.execute(t, nil); code != 1 || !strings.Contains(out, "new: read-only file system") {
		t.Errorf("it ended with %d: %s", code, out)
	}
}

// upToDate checks that a folder contains exactly the files of tree number n (see filesOfTree). It uses a bundles.Writer
// with ReadOnly, which only compares the folder with the tree.
func upToDate(t *testing.T, dir string, n int) {
	t.Helper()
	w := &bundles.Writer{ReadOnly: true}
	defer w.Close()
	plan, err := w.Plan(t.Context(), newTree(n, fewFiles), dir)
	if err != nil {
		t.Fatal(err)
	}
	if found := plan.Differences(); len(found) > 0 {
		t.Errorf("the folder differs: %v", found)
	}
}

// TestPermissions writes bundles as a user without privileges. In each test case, one file or folder has an unusual
// mode. If the field "want" is empty, the write must succeed. Otherwise, it must fail with the error in "want".
func TestPermissions(t *testing.T) {
	skipUnlessRequested(t)
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}
	if os.Geteuid() != 0 {
		t.Fatal("running as another user needs root")
	}
	cases := map[string]struct {
		path string // the file or folder that gets the mode
		mode fs.FileMode
		want string // the expected error, or empty if the write must succeed
	}{
		"the parent is read-only":                {"..", 0o555, "creating a staging folder next to the target folder: permission denied"},
		"the parent cannot be read":              {"..", 0o311, "permission denied"},
		"the folder is read-only":                {".", 0o555, "moving the new folder to its place: permission denied; nothing was changed"},
		"the folder cannot be read":              {".", 0o333, "permission denied"},
		"a folder in it is read-only":            {"namespaces/team-00", 0o555, ""},
		"a file in it is read-only":              {"namespaces/team-00/runtime-0000.yaml", 0o444, ""},
		"a file in it that changes is read-only": {"namespaces/team-01/runtime-0001.yaml", 0o444, ""},
		"a file in it cannot be read":            {"namespaces/team-01/runtime-0001.yaml", 0o200, "namespaces/team-01/runtime-0001.yaml: permission denied"},
		"a folder in it that goes is read-only":  {"cluster/of-0", 0o555, ""},
		"a stale staging folder of another user": {"../.trainyard-staged-bundle-abcdefghij", 0o000, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base := openFolder(t)
			o := order{Dir: filepath.Join(base, "bundle"), Files: fewFiles, Trees: []int{0}}
			if out, code := o.execute(t, nobody); code != 0 {
				t.Fatal(out)
			}
			path := filepath.Join(o.Dir, tc.path)
			if strings.Contains(tc.path, "staged") {
				if err := os.Mkdir(path, 0o755); err != nil { // owned by root
					t.Fatal(err)
				}
				defer func() { _ = os.Remove(path) }()
			}
			if err := os.Chmod(path, tc.mode); err != nil {
				t.Fatal(err)
			}
			o.Trees = []int{1}
			if tc.want != "" {
				o.runFailing(t, nobody, tc.want)
				return
			}
			if out, code := o.execute(t, nobody); code != 0 {
				t.Errorf("it ended with %d: %s", code, out)
			} else if strings.Contains(out, "note: cannot remove") != strings.Contains(tc.path, "staged") {
				t.Errorf("it printed %q, want a note only if it leaves a folder", out)
			}
			if n, err := findTree(o.Dir, fewFiles, 1); n != 1 {
				t.Error(err)
			}
			if left := listSiblings(t, o.Dir); len(left) > 0 && !strings.Contains(tc.path, "staged") {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// openFolder creates a folder in which every user can create files.
func openFolder(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "trainyard-crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(base, 0o777); err != nil {
		t.Fatal(err)
	}
	return base
}

// TestMounts writes bundles to folders that are mount points or contain mounts. Each write must fail and change
// nothing.
func TestMounts(t *testing.T) {
	skipUnlessRequested(t)
	cases := map[string]struct {
		at   string // mount point in the bundle
		bind bool
		keep bool
		want string
	}{
		"the folder is a disk":                {at: ".", want: "namespaces/team-00/runtime-0000.yaml: is in a mounted folder, which cannot be replaced: unmount this folder, or write to a folder inside the mounted folder; nothing was changed"},
		"the folder is mounted from its disk": {at: ".", bind: true, want: "namespaces/team-00/runtime-0000.yaml: is in a mounted folder, which cannot be replaced: unmount this folder, or write to a folder inside the mounted folder; nothing was changed"},
		"a disk in it":                        {at: "namespaces", want: "namespaces/team-00/runtime-0000.yaml: is in a mounted folder, which cannot be replaced: unmount this folder, or write to a folder inside the mounted folder; nothing was changed"},
		"a disk with unknown files":           {at: "own", keep: true, want: "cannot keep the unknown file own/file: creating a hard link to it failed: invalid cross-device link: move the file away, or write to another folder; nothing was changed"},
		"unknown files mounted from its disk": {
			at: "own", bind: true, keep: true, want: "cannot keep the unknown file own/file: creating a hard link to it failed: invalid cross-device link: move the file away, or write to another folder; nothing was changed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			o := order{Dir: filepath.Join(base, "parent", "bundle"), Files: fewFiles, Trees: []int{0}, Keep: tc.keep}
			o.mustRun(t)
			source, at := filepath.Join(base, "source"), filepath.Join(o.Dir, tc.at)
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(source, os.DirFS(at)); err != nil {
				t.Fatal(err)
			}
			if tc.keep {
				if err := os.WriteFile(filepath.Join(source, "file"), []byte("by hand"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tc.bind {
				mountFileSystem(t, source, at, "", unix.MS_BIND, "")
			} else {
				mountFileSystem(t, "none", at, "tmpfs", 0, "")
				if err := os.CopyFS(at, os.DirFS(source)); err != nil {
					t.Fatal(err)
				}
			}
			before, err := readContents(os.DirFS(o.Dir))
			if err != nil {
				t.Fatal(err)
			}
			o.Trees = []int{1}
			out, code := o.execute(t, nil)
			if code != 1 || !strings.Contains(out, tc.want) || strings.Count(out, "\n") != 1 {
				t.Errorf("it ended with %d: %swant 1 and one line with %q", code, out, tc.want)
			}
			after, err := readContents(os.DirFS(o.Dir))
			if err != nil {
				t.Fatal(err)
			}
			if path := findDifference(before, after); path != "" {
				t.Errorf("%s was changed", path)
			}
			if left := listSiblings(t, o.Dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// TestOverlay writes to an overlay file system, such as the file system of a container. In a container, the lower layer
// of this file system is the image. A write that replaces a folder of the lower layer must fail. A write to a new
// folder must succeed.
func TestOverlay(t *testing.T) {
	skipUnlessRequested(t)
	base := t.TempDir()
	for _, dir := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	order{Dir: filepath.Join(base, "lower", "bundle"), Files: fewFiles, Trees: []int{0}}.mustRun(t)
	mountFileSystem(t, "overlay", filepath.Join(base, "merged"), "overlay", 0,
		"lowerdir="+base+"/lower,upperdir="+base+"/upper,workdir="+base+"/work,redirect_dir=off")
	o := order{Dir: filepath.Join(base, "merged", "bundle"), Files: fewFiles, Trees: []int{1}}
	o.runFailing(t, nil, "a folder in a lower layer of an overlay file system, cannot be replaced: write to another folder; nothing was changed")
	o.Dir = filepath.Join(base, "merged", "new")
	o.Trees = []int{0, 1, 0}
	o.mustRun(t)
	if n, err := findTree(o.Dir, fewFiles, 0, 1); n != 0 {
		t.Errorf("the folder holds tree %d, %v", n, err)
	}
}
