//go:build !linux

package bench

import "os"

// peakMemory returns 0, which means unknown, because the unit of peak memory depends on the operating system.
func peakMemory(*os.ProcessState) int64 { return 0 }

// filesystemName returns the same text for every folder, because only the code for Linux determines the file system.
func filesystemName(string) string { return "an unknown file system" }
