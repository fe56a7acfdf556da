package bundles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// patience says how long a run waits for another one: silently, and at all.
type patience struct{ silent, most time.Duration }

var usualPatience = patience{silent: 2 * time.Second, most: time.Minute}

// between is how long a run waits before it tries the lock again. A lock that
// is waited for in the kernel could not be given up when the run is interrupted.
const between = 20 * time.Millisecond

// errHeld says that another run has the lock.
var errHeld = errors.New("held by another run")

// lockFile is made where the system cannot lock a directory, and is removed afterwards.
const lockFile = ".trainyard-lock"

// lock waits until no other run has the lock of a place.
func (w patience) lock(ctx context.Context, p *place, writer *Writer) (release func(), err error) {
	start, told := time.Now(), false
	for {
		release, err := tryLock(p.root, p.handle)
		waited := time.Since(start)
		switch {
		case err == nil:
			return release, nil
		case writer.ReadOnly && !errors.Is(err, errHeld):
			return func() {}, nil // who cannot lock cannot write either
		case !errors.Is(err, errHeld):
			return nil, fmt.Errorf("locking the folder %s: %w", p.path, reason(err))
		case waited > w.most:
			return nil, fmt.Errorf("locking the folder %s: another program has held the lock for %s; %s", p.path, w.most, advice(p))
		case waited > w.silent && !told:
			writer.tell("waiting for another run that writes in %s", p.path)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("locking the folder %s: %w", p.path, reason(ctx.Err()))
		case <-time.After(between):
		}
	}
}

// advice says what a person can do about a lock that nobody gives up.
func advice(p *place) string {
	if _, err := p.root.Lstat(lockFile); err == nil {
		return fmt.Sprintf("if there is no other run, remove %s", filepath.Join(p.path, lockFile))
	}
	return "try again when it has ended"
}

// tryLockFile locks by making a file. A run that is killed leaves it behind.
func tryLockFile(root *os.Root) (release func(), err error) {
	f, err := root.OpenFile(lockFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, errHeld
	case err != nil:
		return nil, err
	}
	_ = f.Close() // it is empty
	return func() { _ = root.Remove(lockFile) }, nil
}
