//go:build !linux

package sandbox

import (
	"os/exec"
	"time"
)

// killWithParent does nothing: the time limit ends a child that outlives its parent.
func killWithParent(*exec.Cmd) {}

// limitCPU does nothing: the time limit also limits CPU time.
func limitCPU(int, time.Duration) {}

// residentMemory returns 0: the memory is unknown.
func residentMemory(int) int64 { return 0 }
