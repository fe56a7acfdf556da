//go:build !linux

package sandbox

import (
	"os/exec"
	"time"
)

// restrict does nothing: the bound on time ends a child that outlives us.
func restrict(*exec.Cmd) {}

// boundCPU does nothing: the bound on wall time holds here, too.
func boundCPU(int, time.Duration) {}

// resident cannot tell here.
func resident(int) int64 { return 0 }
