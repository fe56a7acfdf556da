package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func killWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// limitCPU makes the kernel kill a process that uses too much CPU time. limitCPU ignores errors, because the
// process may already have ended. limitCPU sets no limit on the address space, because a limit below 1 GiB kills
// every Go program when it starts.
func limitCPU(pid int, limit time.Duration) {
	if seconds := uint64(limit / time.Second); seconds > 0 {
		_ = unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}, nil)
	}
}

// residentMemory returns the resident memory of a process in bytes, or 0 if it is unknown.
func residentMemory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
