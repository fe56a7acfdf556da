package bundles

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSecondRunWaits: it says so, and goes on when the first one has ended.
func TestSecondRunWaits(t *testing.T) {
	base := t.TempDir()
	one := &Writer{}
	if _, err := one.Plan(t.Context(), tree(t, first), filepath.Join(base, "x")); err != nil {
		t.Fatal(err)
	}
	two := &Writer{Tell: func(note string) {
		if !strings.HasPrefix(note, "waiting for another run that writes in "+base) {
			t.Errorf("note %q", note)
		}
		one.Close()
	}}
	p, err := openPlace(t.Context(), base, two, patience{silent: time.Millisecond, most: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p.close()
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Errorf("%v is left over", entries)
	}
}

func TestWaitingEnds(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		ctx  context.Context //nolint:containedctx // of one call
		wait patience
		want string
	}{
		"when it has taken too long":    {t.Context(), patience{0, time.Millisecond}, "another program has held the lock for 1ms; try again when it has ended"},
		"when the run is interrupted":   {cancelled, patience{time.Minute, time.Minute}, "interrupted"},
		"at once if it cannot be ended": {cancelled, patience{0, 0}, "interrupted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			one := &Writer{}
			defer one.Close()
			if _, err := one.Plan(t.Context(), tree(t, first), filepath.Join(base, "x")); err != nil {
				t.Fatal(err)
			}
			_, err := openPlace(tc.ctx, base, &Writer{}, tc.wait)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("openPlace() = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestPlaceThatMovesAway: who waited for the lock of a folder that is gone by
// then starts again with the one that is there now.
func TestPlaceThatMovesAway(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	one := &Writer{}
	if _, err := one.Plan(t.Context(), tree(t, first), filepath.Join(base, "x")); err != nil {
		t.Fatal(err)
	}
	two := &Writer{Tell: func(string) {
		if err := os.Rename(base, base+"-moved"); err != nil {
			t.Error(err)
		}
		one.Close()
	}}
	p, err := openPlace(t.Context(), base, two, patience{silent: time.Millisecond, most: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if !p.current() {
		t.Error("the lock is for a folder that nobody finds any more")
	}
}

// TestLockFile is how folders are locked where the system cannot do it.
func TestLockFile(t *testing.T) {
	base := t.TempDir()
	root, err := os.OpenRoot(base)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	release, err := tryLockFile(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryLockFile(root); !errors.Is(err, errHeld) {
		t.Errorf("locking again: %v, want it held", err)
	}
	if got := advice(&place{path: base, root: root}); !strings.Contains(got, "remove "+filepath.Join(base, lockFile)) {
		t.Errorf("advice() = %q", got)
	}
	release()
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Errorf("%v is left over", entries)
	}
}

// TestOneWriterManyFolders: the lock of the place is taken once.
func TestOneWriterManyFolders(t *testing.T) {
	base := t.TempDir()
	w := &Writer{}
	defer w.Close()
	for _, name := range []string{"dev", "prod"} {
		p, err := w.Plan(t.Context(), tree(t, first), filepath.Join(base, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(base, name), whole(t, first))
	}
}
