//go:build !linux

package bench

import "os"

// peakMemory is unknown: systems report it in different units.
func peakMemory(*os.ProcessState) int64 { return 0 }

// filesystem is unknown on other systems.
func filesystem(string) string { return "an unknown file system" }
