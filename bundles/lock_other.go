//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bundles

import (
	"errors"
	"os"
)

// tryLock is not implemented on this system.
func tryLock(*os.File) error { return errors.ErrUnsupported }
