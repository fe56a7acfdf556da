package bundles

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"syscall"
)

// swap puts what is staged in the place of the folder.
func (s *staging) swap(existed bool) error {
	s.using = newName
	if !existed {
		return explain(s.place.root.Rename(path.Join(s.name, newName), s.of))
	}
	if err := s.exchange(); !errors.Is(err, errors.ErrUnsupported) {
		return explain(err)
	}
	s.using = oldName
	return s.rename()
}

// exchange swaps new and the folder in one step; what was is then in new.
func (s *staging) exchange() error {
	handle, err := s.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = handle.Close() }() // it was only read
	return s.place.exchange(handle, newName, s.place.handle, s.of)
}

// rename swaps in two steps, between which there is no folder. The mark is
// flushed before: without it nobody would dare to put the folder back after a
// power failure.
func (s *staging) rename() error {
	if err := s.flushMark(); err != nil {
		return reason(err)
	}
	root := s.place.root
	if err := root.Rename(s.of, path.Join(s.name, oldName)); err != nil {
		return explain(err)
	}
	if err := root.Rename(path.Join(s.name, newName), s.of); err != nil {
		return and(explain(err), s.back())
	}
	return nil
}

// swapBack undoes swap.
func (s *staging) swapBack() error {
	if s.using == newName {
		return s.saved(s.exchange())
	}
	if err := s.place.root.Rename(s.of, path.Join(s.name, newName)); err != nil {
		return s.saved(err)
	}
	return s.back()
}

// back is the second step of swapping back.
func (s *staging) back() error {
	return s.saved(s.place.root.Rename(path.Join(s.name, oldName), s.of))
}

// saved says where the folder that was lies if it could not be put back. Where
// another folder is in its place, no later run may take it for a leftover.
func (s *staging) saved(err error) error {
	if err == nil {
		return nil
	}
	s.stuck = true
	if s.place.holds(s.of) {
		_ = s.root.Remove(markName)
	}
	return fmt.Errorf("the folder that was could not be put back from %s: %w", filepath.Join(s.place.path, s.old()), reason(err))
}

// explain says what stands behind a folder that cannot be renamed.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%w: a mount point cannot be replaced, but a folder in it can: add a name to the path", reason(err))
	case errors.Is(err, syscall.EXDEV):
		return fmt.Errorf("%w: a mount point, or a folder of a lower layer of an overlay, cannot be replaced: write to another folder", reason(err))
	default:
		return fmt.Errorf("putting the new folder in its place: %w", reason(err))
	}
}
