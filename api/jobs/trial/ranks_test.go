package trial_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs/trial"
)

// wholeVerdict is what preflight says when all is well on three hosts.
const wholeVerdict = `{"hosts":3,"reached":3,"slots":6,"available":6,"ms":[1,2,3],"failed":[]}`

// ranks are what so many ranks on each of three hosts print.
func ranks(job string, each int) string {
	var b strings.Builder
	for i := range 3 * each {
		fmt.Fprintf(&b, "trainyard rank on host%d with %s\n", i%3, job)
	}
	return b.String()
}

// TestRanksThatNobodySawFail: a job may be Complete with all ranks on one host, so that nothing
// but the launcher's log can tell.
func TestRanksThatNobodySawFail(t *testing.T) {
	s := set(t)
	result, err := s.play(func(job string) {
		s.nodes(job)
		s.pod(job, "launcher", 0, "a", over(wholeVerdict))
		s.end(job, jobset.JobSetCompleted)
	})
	if err != nil || result.Passed || result.TimedOut {
		t.Errorf("passed %v, timed out %v, error %v", result.Passed, result.TimedOut, err)
	}
	got := named(t, result, "ranks")
	if got.Status != trial.Failed || !strings.Contains(got.Detail, "log could not be read") || !strings.Contains(got.Evidence, "no kubelet") {
		t.Errorf("the check is %+v, want that it failed for want of a log", got)
	}
}

// TestTheLatestLauncherCounts where a Job made a second one, whatever the names.
func TestTheLatestLauncherCounts(t *testing.T) {
	for name, suffixes := range map[string][2]string{"in order of names": {"a", "b"}, "against it": {"b", "a"}} {
		t.Run(name, func(t *testing.T) {
			s := set(t)
			result, err := s.play(func(job string) {
				s.log.Store(ranks(job, 2))
				s.pod(job, "launcher", 0, suffixes[0], ready())
				nextSecond()
				s.pod(job, "launcher", 0, suffixes[1], over(wholeVerdict))
				s.nodes(job)
				s.end(job, jobset.JobSetCompleted)
			})
			if err != nil || !result.Passed {
				t.Errorf("error %v, result %+v", err, result)
			}
			if got := named(t, result, "ranks").Detail; got != "6 ranks on 3 hosts" {
				t.Errorf("ranks: %s", got)
			}
		})
	}
}

// TestManyRanksAreCounted: more than a few thousand are no fault of the runtime.
func TestManyRanksAreCounted(t *testing.T) {
	s := set(t)
	result, err := s.play(func(job string) {
		s.log.Store(ranks(job, 1500))
		s.nodes(job)
		s.pod(job, "launcher", 0, "a", over(strings.Replace(wholeVerdict, `"slots":6`, `"slots":4500`, 1)))
		s.end(job, jobset.JobSetCompleted)
	})
	if err != nil || !result.Passed {
		t.Errorf("error %v, result %+v", err, result)
	}
}

// TestAnMpirunThatWaitsForRanksThatAreGoneIsTold from one that has started none.
func TestAnMpirunThatWaitsForRanksThatAreGoneIsTold(t *testing.T) {
	s := set(t)
	s.options.Timeout = 8 * time.Second
	result, err := s.play(func(job string) {
		s.log.Store(ranks(job, 2))
		s.nodes(job)
		hanging := over(wholeVerdict)
		hanging.ContainerStatuses = ready().ContainerStatuses
		s.pod(job, "launcher", 0, "a", hanging)
	})
	check := named(t, result, "ranks")
	if err != nil || !result.TimedOut || check.Status != trial.Failed {
		t.Errorf("error %v, timed out %v, check %+v", err, result.TimedOut, check)
	}
	for what, want := range map[string]string{
		check.Detail:   "all 6 ranks have started, and mpirun has not ended",
		check.Evidence: "trainyard rank on host2",
		check.Hint:     "another version",
	} {
		if !strings.Contains(what, want) {
			t.Errorf("%q does not say %q", what, want)
		}
	}
}
