//go:build !linux

package sandbox

import (
	"os/exec"
	"time"
)

// killWithParent does nothing on this operating system, so a child can outlive its parent.
func killWithParent(*exec.Cmd) {}

// limitCPU does nothing on this operating system. Only the limit on elapsed time bounds the CPU time.
func limitCPU(int, time.Duration) {}

// residentMemory returns 0, because the memory is unknown on this operating system.
func residentMemory(int) int64 { return 0 }
