//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// private tells whether a folder is ours, and nobody else can write to it.
func private(folder fs.FileInfo) bool {
	info, ok := folder.Sys().(*syscall.Stat_t)
	return ok && int64(info.Uid) == int64(os.Geteuid()) && folder.Mode().Perm()&0o022 == 0
}
