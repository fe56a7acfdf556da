//go:build !linux

package bundles

import (
	"errors"
	"os"
)

// exchange reports that this system cannot exchange two folders atomically; the writer renames them instead.
func exchange(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
