package trial_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs/trial"
)

const goodVerdict = `{"hosts":3,"reached":3,"slots":6,"available":6,"ms":[1,2,3],"failed":[]}`

func rankOutput(job string, each int) string {
	var b strings.Builder
	for i := range 3 * each {
		fmt.Fprintf(&b, "trainyard rank on host%d with %s\n", i%3, job)
	}
	return b.String()
}

// TestUnreadLogFails: a trial must fail if the log cannot be read, even if the TrainJob is Complete. Only the
// log shows whether all ranks ran on one host.
func TestUnreadLogFails(t *testing.T) {
	s := newFakeCluster(t)
	result, err := s.play(func(job string) {
		s.createNodes(job)
		s.createPod(job, "launcher", 0, "a", succeededStatus(goodVerdict))
		s.endJobSet(job, jobset.JobSetCompleted)
	})
	if err != nil || result.Passed || result.TimedOut {
		t.Errorf("passed %v, timed out %v, error %v", result.Passed, result.TimedOut, err)
	}
	got := checkNamed(t, result, "ranks")
	if got.Status != trial.Failed || !strings.Contains(got.Detail, "log could not be read") || !strings.Contains(got.Evidence, "no kubelet") {
		t.Errorf("the check is %+v, want that it failed because the log is missing", got)
	}
}

// TestLatestLauncher: the trial must find the newer launcher pod by its creation time, and not by its name.
func TestLatestLauncher(t *testing.T) {
	for name, suffixes := range map[string][2]string{"in order of names": {"a", "b"}, "in reverse order": {"b", "a"}} {
		t.Run(name, func(t *testing.T) {
			s := newFakeCluster(t)
			result, err := s.play(func(job string) {
				s.log.Store(rankOutput(job, 2))
				s.createPod(job, "launcher", 0, suffixes[0], ready())
				nextSecond()
				s.createPod(job, "launcher", 0, suffixes[1], succeededStatus(goodVerdict))
				s.createNodes(job)
				s.endJobSet(job, jobset.JobSetCompleted)
			})
			if err != nil || !result.Passed {
				t.Errorf("error %v, result %+v", err, result)
			}
			if got := checkNamed(t, result, "ranks").Detail; got != "6 ranks on 3 hosts" {
				t.Errorf("ranks: %s", got)
			}
		})
	}
}

func TestManyRanks(t *testing.T) {
	s := newFakeCluster(t)
	result, err := s.play(func(job string) {
		s.log.Store(rankOutput(job, 1500))
		s.createNodes(job)
		s.createPod(job, "launcher", 0, "a", succeededStatus(strings.Replace(goodVerdict, `"slots":6`, `"slots":4500`, 1)))
		s.endJobSet(job, jobset.JobSetCompleted)
	})
	if err != nil || !result.Passed {
		t.Errorf("error %v, result %+v", err, result)
	}
}

func TestHangingMpirun(t *testing.T) {
	s := newFakeCluster(t)
	s.options.Timeout = 8 * time.Second
	result, err := s.play(func(job string) {
		s.log.Store(rankOutput(job, 2))
		s.createNodes(job)
		hanging := succeededStatus(goodVerdict)
		hanging.ContainerStatuses = ready().ContainerStatuses
		s.createPod(job, "launcher", 0, "a", hanging)
	})
	check := checkNamed(t, result, "ranks")
	if err != nil || !result.TimedOut || check.Status != trial.Failed {
		t.Errorf("error %v, timed out %v, check %+v", err, result.TimedOut, check)
	}
	for what, want := range map[string]string{
		check.Detail:   "all 6 ranks have started, and mpirun has not ended",
		check.Evidence: "trainyard rank on host2",
		check.Hint:     "another version",
	} {
		if !strings.Contains(what, want) {
			t.Errorf("%q does not contain %q", what, want)
		}
	}
}
