//go:build linux

package preflight

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/jail"
)

func TestPreflightReachesEveryHost(t *testing.T) {
	t.Parallel()
	for name, on := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, on)
			j.slots = 2
			j.serve(j.nodes...)
			result := j.preflight(map[string]string{"PREFLIGHT_OVERSUBSCRIBE": "true"}).Wait()
			got := read(t, result)
			if diff := cmp.Diff([]bool{true, true, true}, got.timed()); diff != "" {
				t.Errorf("times: -want +got:\n%s", diff)
			}
			want := verdict{Hosts: 3, Reached: 3, Slots: 6, Available: 3 * runtime.NumCPU(), Failed: []failure{}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict: -want +got:\n%s\n%s", diff, result.Log)
			}
		})
	}
}

func TestPreflightWaitsForTheLaunchersOwnName(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, platform{})
	j.serve(j.nodes...)
	j.launcher.name = "sum-launcher-0-0.later" // Its own name, but none that resolves yet.
	process := j.preflight(nil)
	awaitClock(t, process)
	time.Sleep(1500 * time.Millisecond)
	j.launcher.pod.AddHost("127.0.0.1", j.launcher.name)
	got := read(t, process.Wait())
	if got.Reached != 2 || *got.MS[0] < 1000 || *got.MS[1] >= *got.MS[0] {
		t.Errorf("got %+v", got)
	}
}

// awaitClock waits until preflight has begun to count time, which a busy machine delays.
func awaitClock(t *testing.T, process *jail.Process) {
	t.Helper()
	eventually(t, process, func() bool { return strings.Contains(process.Log(), "waiting up to") })
}

func TestPreflightWaitsForANodeThatStartsLate(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, platform{})
	j.serve(j.nodes[0])
	process := j.preflight(nil)
	awaitClock(t, process)
	time.Sleep(2 * time.Second)
	j.serve(j.nodes[1])
	got := read(t, process.Wait())
	if got.Reached != 3 || *got.MS[1] >= *got.MS[2] || *got.MS[2] < 2000 || *got.MS[2] > int(soon.Milliseconds()) {
		t.Errorf("got %+v", got)
	}
}

func TestPreflightEndsWhenItIsTold(t *testing.T) {
	t.Parallel()
	for name, on := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := newJob(t, 2, on).preflight(nil)
			awaitClock(t, process)
			told := time.Now()
			process.Signal(syscall.SIGTERM)
			result := process.Wait()
			if took := time.Since(told); result.Code != 128+int(syscall.SIGTERM) || took > soon/2 {
				t.Errorf("ended with %d after %s:\n%s", result.Code, took, result.Log)
			}
		})
	}
}

func TestANodeEndsWhenItIsTold(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, platform{})
	j.serve(j.nodes...)
	told := time.Now()
	j.nodes[0].sshd.Signal(syscall.SIGTERM)
	result := j.nodes[0].sshd.Wait()
	if took := time.Since(told); took > soon/2 {
		t.Errorf("ended with %d after %s:\n%s", result.Code, took, result.Log)
	}
}
