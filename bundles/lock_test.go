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

func TestSecondRunWaits(t *testing.T) {
	base := t.TempDir()
	one := &Writer{}
	if _, err := one.Plan(t.Context(), tree(t, first), filepath.Join(base, "x")); err != nil {
		t.Fatal(err)
	}
	two := &Writer{Note: func(note string) {
		if !strings.HasPrefix(note, "waiting for another run that writes in "+base) {
			t.Errorf("note %q", note)
		}
		one.Close()
	}}
	p, err := openParentDir(t.Context(), base, two, lockTimeout{note: time.Millisecond, total: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p.close()
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Errorf("the folder contains %v, want nothing", entries)
	}
}

func TestLockTimeout(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		ctx     context.Context //nolint:containedctx // of one call
		timeout lockTimeout
		want    string
	}{
		"timeout":                   {t.Context(), lockTimeout{0, time.Millisecond}, "another program has held the lock for 1ms: run the command again when that program has ended"},
		"interrupted while waiting": {cancelled, lockTimeout{time.Minute, time.Minute}, "interrupted"},
		"interrupted and timed out": {cancelled, lockTimeout{0, 0}, "interrupted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			one := &Writer{}
			defer one.Close()
			if _, err := one.Plan(t.Context(), tree(t, first), filepath.Join(base, "x")); err != nil {
				t.Fatal(err)
			}
			_, err := openParentDir(tc.ctx, base, &Writer{}, tc.timeout)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("openParentDir() = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestLockIsUnsupported checks that a run continues if the directory cannot be locked, as on NFS.
func TestLockIsUnsupported(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tryLock(dir); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("tryLock() = %v, want %v", err, errors.ErrUnsupported)
	}
	w := &Writer{Note: func(note string) { t.Error(note) }}
	if err := defaultLockTimeout.lock(t.Context(), dir, "dir", w); err != nil {
		t.Errorf("lock() = %v, want no error", err)
	}
}

// TestOneWriterManyFolders: for several folders in the same parent directory, one Writer locks this directory
// only once.
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
		checkFiles(t, filepath.Join(base, name), withManifest(t, first))
	}
}
