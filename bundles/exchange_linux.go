package bundles

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step that nobody can see half of. The error
// is errors.ErrUnsupported where the kernel, or the file system, has no such step.
func exchange(from *os.File, name string, to *os.File, other string) error {
	err := unix.Renameat2(int(from.Fd()), name, int(to.Fd()), other, unix.RENAME_EXCHANGE)
	// File systems that do not know the flag say EINVAL (network file systems,
	// most of FUSE); kernels and sandboxes that do not know the call say ENOSYS.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
