//go:build !linux

package bench

import "os"

// peakMemory returns 0, which means that the peak memory is unknown. Operating systems report the peak memory in
// different units, and only the code for Linux converts the value to bytes.
func peakMemory(*os.ProcessState) int64 { return 0 }

// filesystemName returns the same text for every folder, because only the code for Linux determines the file system.
func filesystemName(string) string { return "an unknown file system" }
