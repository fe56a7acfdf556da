//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bundles

import (
	"errors"
	"os"
)

// tryLock reports that this system has no file locks. Without file locks, the writer runs without a lock.
func tryLock(*os.File) error { return errors.ErrUnsupported }
