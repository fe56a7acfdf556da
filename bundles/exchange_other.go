//go:build !linux

package bundles

import (
	"errors"
	"os"
)

// exchangeNames is not supported on this system, so the writer renames the two folders one after the other.
func exchangeNames(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
