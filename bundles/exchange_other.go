//go:build !linux

package bundles

import (
	"errors"
	"os"
)

// exchangeNames always fails, because atomic swaps are implemented only for Linux. On other systems, the
// writer renames the old folder first, and then the new folder.
func exchangeNames(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
