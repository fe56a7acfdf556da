//go:build !linux

package bundles

import (
	"errors"
	"os"
)

// exchange is not used on other systems.
func exchange(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
