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

// restrict makes a child die with us, so that nothing goes on burning.
func restrict(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// boundCPU lets the kernel kill a process that takes too much CPU time. A process
// that has ended already needs no bound. There is no bound on the address space:
// one below about 1 GiB kills every Go program at its start.
func boundCPU(pid int, most time.Duration) {
	if seconds := uint64(most / time.Second); seconds > 0 {
		limit := unix.Rlimit{Cur: seconds, Max: seconds}
		_ = unix.Prlimit(pid, unix.RLIMIT_CPU, &limit, nil)
	}
}

// resident is the memory that a process holds, in bytes; 0 if it cannot be told.
func resident(pid int) int64 {
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
