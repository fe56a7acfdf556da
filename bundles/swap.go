package bundles

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

func (s *staging) swap(exists bool) error {
	s.previous = newName
	if !exists {
		return explain(s.parent.root.Rename(path.Join(s.name, newName), s.target))
	}
	err := s.exchange()
	if !errors.Is(err, errors.ErrUnsupported) {
		return explain(err)
	}
	s.previous = oldName
	if err := s.parent.root.Rename(s.target, path.Join(s.name, oldName)); err != nil {
		return explain(err)
	}
	if err := s.parent.root.Rename(path.Join(s.name, newName), s.target); err != nil {
		return joinErrors(explain(err), s.restore())
	}
	return nil
}

func (s *staging) exchange() error {
	handle, err := s.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = handle.Close() }() // opened for reading only
	return s.parent.exchange(handle, newName, s.parent.handle, s.target)
}

func (s *staging) swapBack() error {
	if s.previous == newName {
		return s.keepPrevious(s.exchange())
	}
	if err := s.parent.root.Rename(s.target, path.Join(s.name, newName)); err != nil {
		return s.keepPrevious(err)
	}
	return s.restore()
}

func (s *staging) restore() error {
	return s.keepPrevious(s.parent.root.Rename(path.Join(s.name, oldName), s.target))
}

// keepPrevious adds advice to the error of a failed rollback. After a failed rollback, the staging
// folder contains the previous folder of the bundle. Therefore keepPrevious renames the staging
// folder, so that later runs do not remove it. If there is no error, keepPrevious does nothing.
func (s *staging) keepPrevious(err error) error {
	if err == nil {
		return nil
	}
	s.rollbackFailed = true
	saved := savedPrefix + strings.TrimPrefix(s.name, stagedPrefix)
	if s.parent.root.Rename(s.name, saved) == nil {
		s.name = saved
	}
	return fmt.Errorf("restoring the previous folder failed: %w: move the previous folder back from %s", rootCause(err), filepath.Join(s.parent.path, s.previousPath()))
}

// explain describes why a folder cannot be renamed, and what the user can do.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%w: a mount point cannot be replaced: write to a folder inside the mount point", rootCause(err))
	case errors.Is(err, syscall.EXDEV):
		return fmt.Errorf("%w: a mount point, or a folder in a lower layer of an overlay file system, cannot be replaced: write to another folder", rootCause(err))
	default:
		return fmt.Errorf("moving the new folder to its place: %w", rootCause(err))
	}
}
