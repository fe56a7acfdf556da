//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bundles

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock locks a directory itself, which leaves nothing behind: the system
// gives the lock up when the process ends, however that happens.
func tryLock(root *os.Root, handle *os.File) (release func(), err error) {
	descriptor := int(handle.Fd())
	switch err := syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return func() { _ = syscall.Flock(descriptor, syscall.LOCK_UN) }, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return nil, errHeld
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.EBADF), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL):
		return tryLockFile(root) // a file system that cannot lock directories
	default:
		return nil, err
	}
}

// ownedByUs tells whether what info is about belongs to the user who runs this.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// sameDevice tells whether two files lie on one file system.
func sameDevice(a, b fs.FileInfo) bool {
	one, ok := a.Sys().(*syscall.Stat_t)
	other, also := b.Sys().(*syscall.Stat_t)
	return !ok || !also || one.Dev == other.Dev
}

// keepOwner gives something new the owner and the group of what it replaces, as
// far as we may: root may, and others may choose among their groups.
func keepOwner(chown func(uid, gid int) error, before, now fs.FileInfo) {
	was, ok := before.Sys().(*syscall.Stat_t)
	is, also := now.Sys().(*syscall.Stat_t)
	if !ok || !also || was.Uid == is.Uid && was.Gid == is.Gid {
		return
	}
	if chown(int(was.Uid), int(was.Gid)) != nil {
		_ = chown(-1, int(was.Gid))
	}
}
