package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Oldest returns the id of the oldest process in a set of control groups. The set consists of all control groups whose
// path contains the argument "group". For example, if "group" contains the UID of a pod, Oldest returns the pod's first
// process. The first process holds the pod's namespaces open, and therefore lives as long as the pod. All other
// processes of the pod can end at any time. Oldest works only on Linux, because it reads /proc.
func Oldest(group string) (int, error) { return oldestBelow("/proc", group) }

// oldestBelow implements the function Oldest. The argument "proc" is the path of /proc.
func oldestBelow(proc, group string) (int, error) {
	files, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "cgroup"))
	if err != nil {
		return 0, err
	}
	var oldest int
	var first uint64
	for _, file := range files {
		dir := filepath.Dir(file)
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(group)) {
			continue // a process that has just ended has no file
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return 0, err
		}
		if ticks, err := readStart(dir); err == nil && (oldest == 0 || ticks < first) {
			oldest, first = pid, ticks
		}
	}
	if oldest == 0 {
		return 0, fmt.Errorf("no process on this machine has a control group with %s in its path", group)
	}
	return oldest, nil
}
