//go:build !linux

package bench

import "os"

// peakMemory is not known: systems count it in different units.
func peakMemory(*os.ProcessState) int64 { return 0 }

// filesystem is not known.
func filesystem(string) string { return "an unknown file system" }
