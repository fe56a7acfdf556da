package bundles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// rootCause reduces a system error to its cause. The result does not contain the names of system calls and temporary files,
// because these names do not help users.
func rootCause(err error) error {
	var (
		number syscall.Errno
		path   *fs.PathError
	)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("interrupted (%w)", err)
	case errors.As(err, &number):
		return number
	case errors.As(err, &path):
		return path.Err
	default:
		return err
	}
}

// wrapPath reduces a system error to its cause, and adds the path of the file to the message. The path is relative to
// the bundle's folder.
func wrapPath(path string, err error) error {
	if err == nil || path == "." {
		return rootCause(err)
	}
	return fmt.Errorf("%s: %w", path, rootCause(err))
}

// joinErrors puts two errors on one line. The second error can be nil.
func joinErrors(first, second error) error {
	if second == nil {
		return first
	}
	return fmt.Errorf("%w; %w", first, second)
}
