package bundles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

type lockTimeout struct {
	note  time.Duration // the time until the run prints a note
	total time.Duration // the time until the run fails
}

var defaultLockTimeout = lockTimeout{note: 2 * time.Second, total: time.Minute}

// retryInterval is the time between two attempts to take the lock. A run tries to take the lock repeatedly. The
// alternative would be a system call that waits for the lock, but Ctrl-C could not interrupt such a call.
const retryInterval = 20 * time.Millisecond

var errLocked = errors.New("locked by another process")

// lock locks a directory. If another run has locked the directory, the method waits for the lock. After the timeout,
// the method returns an error. If the file system cannot lock directories, the method returns nil, and the run
// continues without a lock.
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
			return fmt.Errorf("locking the folder %s: another program has held the lock for %s: run the command again when that program has ended", path, l.total)
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
