//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bundles

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open directory. The lock is released when the directory is closed or the process ends.
func tryLock(dir *os.File) error {
	err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return errLocked
	case errors.Is(err, syscall.EBADF), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL):
		return errors.ErrUnsupported // NFS, for example, cannot lock directories
	default:
		return err
	}
}
