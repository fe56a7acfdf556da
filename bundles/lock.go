package bundles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lockTimeout bounds how long a run waits for a lock.
type lockTimeout struct {
	note  time.Duration // before the run prints a note
	total time.Duration // before the run fails
}

var defaultLockTimeout = lockTimeout{note: 2 * time.Second, total: time.Minute}

// retryInterval is the time between two attempts to lock. Attempts, unlike a
// blocking lock, let Ctrl-C end the wait.
const retryInterval = 20 * time.Millisecond

// errLocked reports that another process holds the lock.
var errLocked = errors.New("locked by another process")

// lock locks a directory. It waits for a run that holds the lock, and does
// nothing on file systems that cannot lock directories.
func (l lockTimeout) lock(ctx context.Context, dir *os.File, path string, w *Writer) error {
	start, noted := time.Now(), false
	for {
		err := tryLock(dir)
		waited := time.Since(start)
		switch {
		case err == nil, errors.Is(err, errors.ErrUnsupported):
			return nil
		case !errors.Is(err, errLocked):
			return fmt.Errorf("locking the folder %s: %w", path, rootCause(err))
		case waited > l.total:
			return fmt.Errorf("locking the folder %s: another program has held the lock for %s; try again when it has ended", path, l.total)
		case waited > l.note && !noted:
			w.note("waiting for another run that writes in %s", path)
			noted = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("locking the folder %s: %w", path, rootCause(ctx.Err()))
		case <-time.After(retryInterval):
		}
	}
}
