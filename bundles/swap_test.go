package bundles

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newSwapPlan returns a plan that exchanges two folders: the folder of a bundle and the new folder. Before each
// exchange, the plan calls the function "with", and passes the path of the staging folder to this function. If the
// function returns an error, the exchange fails with this error.
func newSwapPlan(t *testing.T, w *Writer, dir string, with func(string) error) *Plan {
	t.Helper()
	t.Cleanup(w.Close)
	p, err := w.Plan(t.Context(), tree(t, second), dir)
	if err != nil {
		t.Fatal(err)
	}
	p.parent.exchange = func(from *os.File, name string, to *os.File, other string) error {
		if err := with(filepath.Join(p.parent.path, from.Name()[strings.LastIndex(from.Name(), stagedPrefix):])); err != nil {
			return err
		}
		return exchangeNames(from, name, to, other)
	}
	return p
}

var (
	first  = map[string]string{"a": "1", "b": "1", "sub/c": "1"}
	second = map[string]string{"a": "2", "b": "1", "new/d": "2"}
)

func TestSwap(t *testing.T) {
	cases := map[string]struct {
		with func(dir, staged string) error
		want string // substring of the error; empty if the write succeeds
	}{
		"atomic exchange": {with: func(string, string) error { return nil }},
		"two renames": {
			with: func(string, string) error { return errors.ErrUnsupported },
		},
		"the second rename fails": {
			with: func(_, staged string) error {
				return errors.Join(errors.ErrUnsupported, os.RemoveAll(filepath.Join(staged, newName)))
			},
			want: "moving the new folder to its place: no such file or directory; nothing was changed",
		},
		"a mount point": {
			with: func(string, string) error { return &os.PathError{Op: "renameat2", Path: "x", Err: syscall.EBUSY} },
			want: "device or resource busy: a mount point cannot be replaced: write to a folder inside the mount point; nothing was changed",
		},
		"another device": {
			with: func(string, string) error { return syscall.EXDEV },
			want: "invalid cross-device link: a mount point, or a folder in a lower layer of an overlay file system, cannot be replaced: write to another folder; nothing",
		},
		"a folder without write permission": {
			with: func(string, string) error { return syscall.EACCES },
			want: "moving the new folder to its place: permission denied; nothing was changed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := writeBundle(t, first)
			p := newSwapPlan(t, &Writer{}, dir, func(staged string) error { return tc.with(dir, staged) })
			changed, err := p.Write(t.Context())
			want := second
			if tc.want != "" {
				want = first
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("Write() = %v, want %q", err, tc.want)
				}
			} else if err != nil || !changed {
				t.Errorf("Write() = %v, %v", changed, err)
			}
			checkFiles(t, dir, withManifest(t, want))
			noSiblings(t, dir)
		})
	}
}

// TestConcurrentChangesAreNotLost changes the folder after Plan has read it. Write must then fail, and must not
// overwrite the changed folder.
func TestConcurrentChangesAreNotLost(t *testing.T) {
	changes := map[string]struct {
		do   func(*testing.T, string)
		want string
	}{
		"a file is edited":      {edit("a"), "a was changed by another program"},
		"a file is added":       {edit("sub/new"), "sub/new was changed by another program"},
		"a file is removed":     {removeFile("a"), "a was changed by another program"},
		"a file becomes a link": {replaceByLink("a"), "a was changed by another program"},
		"the folder is removed": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, "another program"},
		"the folder becomes a link": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Rename(dir, dir+"-moved"); err != nil {
				t.Fatal(err)
			}
			symlink(t, "bundle-moved", dir)
		}, "another program"},
	}
	for name, change := range changes {
		t.Run(name+" before the swap", func(t *testing.T) {
			dir := writeBundle(t, first)
			p := newSwapPlan(t, &Writer{}, dir, func(string) error { return nil })
			change.do(t, dir)
			want := filesAround(t, dir)
			_, err := p.Write(t.Context())
			failsUnchanged(t, dir, want, err, change.want)
		})
		for kind, outcome := range map[string]error{"exchange": nil, "rename": errors.ErrUnsupported} {
			t.Run(name+" just before "+kind, func(t *testing.T) {
				dir := writeBundle(t, first)
				var want map[string]string
				p := newSwapPlan(t, &Writer{}, dir, func(string) error {
					if want == nil {
						change.do(t, dir)
						want = filesAround(t, dir)
					}
					return outcome
				})
				_, err := p.Write(t.Context())
				if len(want) == 0 { // no folder to swap
					change.want = "no such file"
				}
				failsUnchanged(t, dir, want, err, change.want)
			})
		}
	}
}

// filesAround returns all files in the folder's parent directory, except staging folders.
func filesAround(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := takeSnapshot(t, filepath.Dir(dir))
	for path := range all {
		if strings.HasPrefix(path, stagedPrefix) {
			delete(all, path)
		}
	}
	return all
}

func failsUnchanged(t *testing.T, dir string, want map[string]string, err error, message string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("Write() = %v, want %q", err, message)
	}
	if diff := cmp.Diff(want, takeSnapshot(t, filepath.Dir(dir))); diff != "" {
		t.Errorf("files in and next to the folder: -before +after:\n%s", diff)
	}
}

// countdownContext is a context that is cancelled after its method Err was called a certain number of times.
type countdownContext struct {
	context.Context //nolint:containedctx // countdownContext is a context
	left            *int
}

func (c countdownContext) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterrupt interrupts a run at every step. After each interruption, the folder must contain all old files or all
// new files. Apart from the bundle's folder, the parent directory must be empty.
func TestInterrupt(t *testing.T) {
	for after := 0; ; after++ {
		dir, left := writeBundle(t, first), after
		ctx := countdownContext{t.Context(), &left}
		err := func() error {
			w := &Writer{KeepUnknown: true}
			defer w.Close()
			edit("own/notes")(t, dir)
			p, err := w.Plan(ctx, tree(t, second), dir)
			if err != nil {
				return err
			}
			_, err = p.Write(ctx)
			return err
		}()
		want := first
		if err == nil {
			want = second
		} else if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted") {
			t.Fatalf("interrupted after %d steps: %v", after, err)
		}
		all := withManifest(t, want)
		all["own/notes"] = "by hand\n"
		checkFiles(t, dir, all)
		noSiblings(t, dir)
		if err == nil {
			t.Logf("there are %d steps", after)
			return
		}
	}
}
