//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bundles

import (
	"errors"
	"os"
)

// tryLock returns errors.ErrUnsupported, because this system has no file locks. On this system, the writer runs
// without a lock.
func tryLock(*os.File) error { return errors.ErrUnsupported }
