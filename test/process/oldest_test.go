package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldestProcessOfAGroupIsFound checks that Oldest compares the start times of processes, and not their
// process ids.
func TestOldestProcessOfAGroupIsFound(t *testing.T) {
	proc := t.TempDir()
	for pid, p := range map[int]struct {
		group, name, state string
		started            int
	}{
		7:    {group: "/pods/other", name: "pause", state: "S", started: 10},
		20:   {group: "/pods/poda/sshd", name: "sshd", state: "S", started: 900},
		100:  {group: "/pods/poda/probe", name: "sleep) S 1", state: "R", started: 800},
		300:  {group: "/pods/poda/pause", name: "pause", state: "S", started: 500},
		4000: {group: "/pods/poda/probe", name: "sh", state: "Z", started: 400},
	} {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		stat := fmt.Sprintf("%d (%s) %s%s %d 0 0\n", pid, p.name, p.state, strings.Repeat(" 1", 18), p.started)
		for file, text := range map[string]string{"cgroup": "0::" + p.group + "\n", "stat": stat} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	// oldestBelow reads the start time of a process from the file "stat". For the process with the id 1, the test does
	// not create this file. The test thereby simulates a process that ends before oldestBelow reads the start time.
	if err := os.Mkdir(filepath.Join(proc, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(proc, "1", "cgroup"), []byte("0::/pods/poda\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid, err := oldestBelow(proc, "poda"); err != nil || pid != 300 {
		t.Errorf("oldestBelow() = %d, %v, want 300", pid, err)
	}
	if pid, err := oldestBelow(proc, "podb"); err == nil {
		t.Errorf("oldestBelow() of a group without processes = %d, want an error", pid)
	}
}
