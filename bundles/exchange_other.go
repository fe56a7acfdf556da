//go:build !linux

package bundles

import (
	"errors"
	"os"
)

// exchange is not implemented on this system.
func exchange(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
