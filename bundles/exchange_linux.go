package bundles

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// exchangeNames swaps two files or folders atomically, so that each gets the name of the other.
// exchangeNames returns errors.ErrUnsupported if the kernel or the file system cannot swap names
// atomically.
func exchangeNames(from *os.File, name string, to *os.File, other string) error {
	err := unix.Renameat2(int(from.Fd()), name, int(to.Fd()), other, unix.RENAME_EXCHANGE)
	// EINVAL means that the file system does not support the flag RENAME_EXCHANGE. Examples of such file systems are
	// network file systems and most FUSE file systems. ENOSYS means that the kernel or the sandbox does not have the
	// system call.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
