//go:build !linux

package bundles

import (
	"errors"
	"os"
)

// exchange is not supported on this system, so the writer renames the two folders one after the other.
func exchange(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
