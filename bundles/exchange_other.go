//go:build !linux

package bundles

import (
	"errors"
	"os"
)

// exchange reports that this system cannot exchange two folders atomically. The writer then renames the folders one
// after the other.
func exchange(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
