package bench

import (
	"fmt"
	"os"
	"syscall"
)

// peakMemory returns the peak memory of a process in bytes, or 0 if it is unknown.
func peakMemory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}

// filesystemNames maps the type numbers in statfs(2) to the names of common file systems.
var filesystemNames = map[int64]string{
	0xEF53: "ext4", 0x58465342: "XFS", 0x9123683E: "Btrfs", 0x01021994: "tmpfs", 0x794C7630: "overlay",
}

// filesystemName returns the name of a folder's file system.
func filesystemName(dir string) string {
	var found syscall.Statfs_t
	if err := syscall.Statfs(dir, &found); err != nil {
		return "an unknown file system"
	}
	if name, ok := filesystemNames[int64(found.Type)]; ok { //nolint:unconvert // the Go type of found.Type depends on the processor
		return name
	}
	return fmt.Sprintf("file system %#x", found.Type)
}
