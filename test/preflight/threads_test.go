//go:build linux

package preflight

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runFile runs a script of the launcher, and returns the script's output. The script runs with a fake program nproc,
// which prints the value of OMP_NUM_THREADS, or 8 if this variable is not set.
func runFile(t *testing.T, j *job, env []string, script string, args ...string) string {
	t.Helper()
	programs := t.TempDir()
	write(t, filepath.Join(programs, "nproc"), "#!/bin/sh\necho ${OMP_NUM_THREADS-8}\n")
	if err := os.Chmod(filepath.Join(programs, "nproc"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(j.launcher.pod.Volume("mpi-run"), script)}, args...)...)
	cmd.Env = append(env, "PATH="+programs+":"+os.Getenv("PATH"))
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", script, err)
	}
	return strings.TrimSpace(string(output))
}

// TestCPULimitsAreCounted checks that the script "cpus" prints the number of CPUs that control groups allow. The test
// simulates control groups of versions 1 and 2 with files in a temporary folder.
func TestCPULimitsAreCounted(t *testing.T) {
	t.Parallel()
	j := newJob(t, 0, testPlatform{})
	j.runIdentity("launcher", j.launcher)
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no control groups":          {want: "8"},
		"no limit":                   {map[string]string{"cpu.max": "max 100000\n"}, "8"},
		"two CPUs":                   {map[string]string{"cpu.max": "200000 100000\n"}, "2"},
		"a fraction":                 {map[string]string{"cpu.max": "350000 100000\n"}, "3"},
		"less than one CPU":          {map[string]string{"cpu.max": "50000 100000\n"}, "1"},
		"more than the machine":      {map[string]string{"cpu.max": "6400000 100000\n"}, "8"},
		"version 1":                  {map[string]string{"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, "4"},
		"version 1, with no limit":   {map[string]string{"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, "8"},
		"version 1, another period":  {map[string]string{"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "20000\n"}, "5"},
		"version 2, another period ": {map[string]string{"cpu.max": "30000 10000\n"}, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			groups := t.TempDir()
			for file, text := range tc.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(groups, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(groups, file), text)
			}
			if got := runFile(t, j, []string{"OMP_NUM_THREADS=1"}, "cpus", groups); got != tc.want {
				t.Errorf("counts %q CPUs, want %s", got, tc.want)
			}
		})
	}
}
