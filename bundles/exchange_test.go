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

// swapping plans to write second over first, with another exchange than the system's.
func swapping(t *testing.T, w *Writer, dir string, with func(string) error) *Plan {
	t.Helper()
	t.Cleanup(w.Close)
	p, err := w.Plan(t.Context(), tree(t, second), dir)
	if err != nil {
		t.Fatal(err)
	}
	p.place.exchange = func(from *os.File, name string, to *os.File, other string) error {
		if err := with(filepath.Join(p.place.path, from.Name()[strings.LastIndex(from.Name(), stagedPrefix):])); err != nil {
			return err
		}
		return exchange(from, name, to, other)
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
		want string // the error, in part; none if the folder is to be the new one
	}{
		"in one step": {with: func(string, string) error { return nil }},
		"in two steps": {
			with: func(string, string) error { return errors.ErrUnsupported },
		},
		"the second step fails": {
			with: func(_, staged string) error {
				return errors.Join(errors.ErrUnsupported, os.RemoveAll(filepath.Join(staged, newName)))
			},
			want: "putting the new folder in its place: no such file or directory; nothing was changed",
		},
		"a mount point": {
			with: func(string, string) error { return &os.PathError{Op: "renameat2", Path: "x", Err: syscall.EBUSY} },
			want: "device or resource busy: a mount point cannot be replaced, but a folder in it can: add a name to the path; nothing was changed",
		},
		"another device": {
			with: func(string, string) error { return syscall.EXDEV },
			want: "invalid cross-device link: a mount point, or a folder of a lower layer of an overlay, cannot be replaced: write to another folder; nothing",
		},
		"a folder that we may not write to": {
			with: func(string, string) error { return syscall.EACCES },
			want: "putting the new folder in its place: permission denied; nothing was changed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := bundle(t, first)
			p := swapping(t, &Writer{}, dir, func(staged string) error { return tc.with(dir, staged) })
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
			holds(t, dir, whole(t, want))
			alone(t, dir)
		})
	}
}

// TestWorkOfOthersIsNotLost: whatever somebody does to the folder after it was
// looked at, it is there afterwards.
func TestWorkOfOthersIsNotLost(t *testing.T) {
	changes := map[string]struct {
		do   func(*testing.T, string)
		what string
	}{
		"a file is edited":      {edit("a"), "a was changed by somebody else"},
		"a file is added":       {edit("sub/new"), "sub/new was changed by somebody else"},
		"a file is removed":     {lose("a"), "a was changed by somebody else"},
		"a file becomes a link": {turn("a"), "a was changed by somebody else"},
		"the folder is removed": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, "somebody else"},
		"the folder becomes a link": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Rename(dir, dir+"-moved"); err != nil {
				t.Fatal(err)
			}
			symlink(t, "bundle-moved", dir)
		}, "somebody else"},
	}
	for name, change := range changes {
		t.Run(name+" before the swap", func(t *testing.T) {
			dir := bundle(t, first)
			p := swapping(t, &Writer{}, dir, func(string) error { return nil })
			change.do(t, dir)
			want := around(t, dir)
			_, err := p.Write(t.Context())
			kept(t, dir, want, err, change.what)
		})
		for kind, outcome := range map[string]error{"exchange": nil, "renaming": errors.ErrUnsupported} {
			t.Run(name+" just before "+kind, func(t *testing.T) {
				dir := bundle(t, first)
				var want map[string]string
				p := swapping(t, &Writer{}, dir, func(string) error {
					if want == nil {
						change.do(t, dir)
						want = around(t, dir)
					}
					return outcome
				})
				_, err := p.Write(t.Context())
				if len(want) == 0 { // there is nothing that could be swapped
					change.what = "no such file"
				}
				kept(t, dir, want, err, change.what)
			})
		}
	}
}

// around is what lies in the folder and beside it, but for what is only staged.
func around(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := snapshot(t, filepath.Dir(dir))
	for path := range all {
		if strings.HasPrefix(path, stagedPrefix) {
			delete(all, path)
		}
	}
	return all
}

// kept makes sure that a write failed, and left all as it was.
func kept(t *testing.T, dir string, want map[string]string, err error, what string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), what) {
		t.Errorf("Write() = %v, want %q", err, what)
	}
	if diff := cmp.Diff(want, snapshot(t, filepath.Dir(dir))); diff != "" {
		t.Errorf("the folder, and what lies beside it: -before +after:\n%s", diff)
	}
}

// countdown is a context that is cancelled after it has been asked so often.
type countdown struct {
	context.Context //nolint:containedctx // it is one
	left            *int
}

func (c countdown) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterrupt: whenever a run is interrupted, the folder is old or new and
// nothing lies beside it.
func TestInterrupt(t *testing.T) {
	for after := 0; ; after++ {
		dir, left := bundle(t, first), after
		ctx := countdown{t.Context(), &left}
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
		all := whole(t, want)
		all["own/notes"] = "by hand\n"
		holds(t, dir, all)
		alone(t, dir)
		if err == nil {
			t.Logf("there are %d steps", after)
			return
		}
	}
}
