//go:build linux

package preflight

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPreflightWritesHydraHostfile checks that the hostfile for Hydra, the process manager of MPICH, has lines of the form
// host:slots. The launcher's line contains an IP address instead of the launcher's name. If the line contained the name,
// Hydra would connect to the launcher by SSH.
func TestPreflightWritesHydraHostfile(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, testPlatform{})
	j.slots = 2
	j.startNodes(j.nodes...)
	result := j.runPreflight(map[string]string{
		"PREFLIGHT_OVERSUBSCRIBE":  "true",
		"PREFLIGHT_HYDRA_HOSTFILE": "/mpi-run/hostfile",
	}).Wait()
	read(t, result)
	got, err := os.ReadFile(filepath.Join(j.launcher.pod.Volume("mpi-run"), "hostfile"))
	if err != nil {
		t.Fatalf("%v\n%s", err, result.Log)
	}
	want := "127.0.0.1:2\nsum-node-0-0.sum:2\nsum-node-0-1.sum:2\n"
	if string(got) != want {
		t.Errorf("hostfile is %q, want %q", got, want)
	}
}

// TestPreflightDoesNotCountTheLauncher: on the launcher, preflight must not run the command that counts slots. The command
// would run in an init container, and could not count the CPUs and GPUs of the launcher's main container.
func TestPreflightDoesNotCountTheLauncher(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, testPlatform{})
	j.slots = 4
	j.startNodes(j.nodes...)
	result := j.runPreflight(map[string]string{
		"PREFLIGHT_SLOTS_COMMAND": "case $(cat /proc/sys/kernel/hostname) in *launcher*) echo 0 ;; *) echo 4 ;; esac",
	}).Wait()
	if got := read(t, result); got.Reached != 2 || got.Available != 8 {
		t.Errorf("got %+v, want 2 hosts and 8 slots\n%s", got, result.Log)
	}
}
