package bundles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// reason leaves of an error from the system what a person can act on: the names
// of calls and of temporary files say nothing to them.
func reason(err error) error {
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

// about names the file, relative to the folder, that an error from the system is about.
func about(path string, err error) error {
	if err == nil || path == "." {
		return reason(err)
	}
	return fmt.Errorf("%s: %w", path, reason(err))
}

// interrupted returns an error if nobody waits for the outcome any more.
func interrupted(ctx context.Context) error { return reason(ctx.Err()) }

// and says two things in one sentence; the second may be nil.
func and(first, second error) error {
	if second == nil {
		return first
	}
	return fmt.Errorf("%w; %w", first, second)
}
