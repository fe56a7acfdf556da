//go:build linux

package preflight

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/podrunner"
)

func TestPreflightReachesEveryHost(t *testing.T) {
	t.Parallel()
	for name, on := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, on)
			j.slots = 2
			j.startNodes(j.nodes...)
			result := j.runPreflight(map[string]string{"PREFLIGHT_OVERSUBSCRIBE": "true"}).Wait()
			got := read(t, result)
			if diff := cmp.Diff([]bool{true, true, true}, got.removeTimes()); diff != "" {
				t.Errorf("times: -want +got:\n%s", diff)
			}
			want := verdict{Hosts: 3, Reached: 3, Slots: 6, Available: 2 + 2*runtime.NumCPU(), Failed: []failure{}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict: -want +got:\n%s\n%s", diff, result.Log)
			}
		})
	}
}

func TestPreflightWaitsForTheLaunchersName(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, testPlatform{})
	j.startNodes(j.nodes...)
	j.launcher.name = "sum-launcher-0-0.later" // the launcher's name, which does not resolve yet
	process := j.runPreflight(nil)
	awaitClock(t, process)
	time.Sleep(4 * time.Second) // long enough to reach the node on a busy machine
	j.launcher.pod.AddHost("127.0.0.1", j.launcher.name)
	got := read(t, process.Wait())
	if got.Reached != 2 || *got.MS[0] < 3000 || *got.MS[1] >= *got.MS[0] {
		t.Errorf("got %+v, want 2 hosts, and a longer time for the launcher", got)
	}
}

// awaitClock waits until preflight begins to measure time. On a busy machine, the start of preflight can take a while.
func awaitClock(t *testing.T, process *podrunner.Process) {
	t.Helper()
	awaitCondition(t, process, func() bool { return strings.Contains(process.Log(), "waiting up to") })
}

func TestPreflightWaitsForLateNodes(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, testPlatform{})
	j.startNodes(j.nodes[0])
	process := j.runPreflight(nil)
	awaitClock(t, process)
	time.Sleep(2 * time.Second)
	j.startNodes(j.nodes[1])
	got := read(t, process.Wait())
	if got.Reached != 3 || *got.MS[1] >= *got.MS[2] || *got.MS[2] < 2000 || *got.MS[2] > int(soonLimit.Milliseconds()) {
		t.Errorf("got %+v, want 3 hosts, and about 2 s for the last host", got)
	}
}

func TestPreflightEndsOnSIGTERM(t *testing.T) {
	t.Parallel()
	for name, on := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := newJob(t, 2, on).runPreflight(nil)
			awaitClock(t, process)
			signaled := time.Now()
			process.Signal(syscall.SIGTERM)
			result := process.Wait()
			if took := time.Since(signaled); result.Code != 128+int(syscall.SIGTERM) || took > soonLimit/2 {
				t.Errorf("preflight ended with code %d after %s, want the code of SIGTERM at once:\n%s", result.Code, took, result.Log)
			}
		})
	}
}

func TestNodesEndOnSIGTERM(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, testPlatform{})
	j.startNodes(j.nodes...)
	signaled := time.Now()
	j.nodes[0].sshd.Signal(syscall.SIGTERM)
	result := j.nodes[0].sshd.Wait()
	if took := time.Since(signaled); took > soonLimit/2 {
		t.Errorf("sshd ended with code %d after %s, want it to end at once:\n%s", result.Code, took, result.Log)
	}
}
