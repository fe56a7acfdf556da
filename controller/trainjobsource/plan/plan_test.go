package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ran() Record {
	first := Version{Generation: 1, Spec: "A"}
	return Record{"bert": {Newest: first, Reserved: 1, Runs: []Run{{Name: "bert", Version: first, Created: true}}}}
}

func run(phase Phase, generation int, spec string) TrainJob {
	return TrainJob{Phase: phase, Job: "bert", Version: Version{Generation: generation, Spec: spec}}
}

func summary(p Plan) string {
	var parts []string
	for _, c := range p.Create {
		parts = append(parts, "create "+c.Run.Name+" "+c.Run.Spec)
	}
	for _, name := range p.Delete {
		parts = append(parts, "delete "+name)
	}
	for _, patch := range p.Patch {
		parts = append(parts, "patch "+patch.TrainJob)
	}
	if state := p.States["bert"]; state != "" {
		parts = append(parts, string(state))
	}
	return strings.Join(parts, ", ")
}

// The variable "second" contains the name of a run of the job "bert". The run is for the job's second version, whose
// spec is "B".
var second = hashedName("bert", Version{Generation: 2, Spec: "B"}, 0)

func TestMake(t *testing.T) {
	for name, tc := range map[string]struct {
		policy Policy
		git    Job
		record Record
		found  map[string]TrainJob
		want   string
	}{
		"a new job":                          {git: Job{Spec: "A"}, want: "create bert A, Running"},
		"a new job with a foreign name":      {git: Job{Spec: "A"}, found: map[string]TrainJob{"bert": {Phase: Active}}, want: "create " + hashedName("bert", Version{Generation: 1, Spec: "A"}, 0) + " A, Running"},
		"no change":                          {git: Job{Spec: "A"}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "Running"},
		"a run that was deleted":             {git: Job{Spec: "A"}, record: ran(), want: "Ended"},
		"a run that was deleted and retried": {git: Job{Spec: "A", Retry: "1"}, record: ran(), want: "create bert A, Running"},
		"a new label":                        {git: Job{Spec: "A", Metadata: "m"}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "patch bert, Running"},
		"a lost record":                      {git: Job{Spec: "A"}, found: map[string]TrainJob{"bert": run(Succeeded, 1, "A")}, want: "Ended"},
		"a lost record and a change":         {git: Job{Spec: "B"}, found: map[string]TrainJob{"bert": run(Succeeded, 1, "A")}, want: "create " + second + " B, Running"},
		"Queue":                              {policy: Policy{OnChange: Queue}, git: Job{Spec: "B"}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "Waiting"},
		"RunAlongside":                       {policy: Policy{OnChange: RunAlongside}, git: Job{Spec: "B"}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "create " + second + " B, Running"},
		"Replace":                            {policy: Policy{OnChange: Replace}, git: Job{Spec: "B"}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "delete bert, Waiting"},
		"Ignore":                             {policy: Policy{OnChange: Ignore}, git: Job{Spec: "B"}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "Ignored"},
		"denied":                             {git: Job{Spec: "A", Denied: true}, want: "Denied"},
		"denied, Replace":                    {policy: Policy{OnChange: Replace}, git: Job{Spec: "B", Denied: true}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "Denied"},
		"denied, and ran before":             {git: Job{Spec: "A", Denied: true}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "Running"},
		"denied, Always":                     {policy: Policy{Prune: Always}, git: Job{Spec: "B", Denied: true}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "Denied"},
		"denied after it was reserved":       {git: Job{Spec: "A", Denied: true}, record: Record{"bert": {Reserved: 1, Runs: []Run{{Name: "bert", Version: Version{Generation: 1, Spec: "A"}}}}}, want: "Denied"},
		"removed, Never":                     {policy: Policy{Prune: Never}, record: ran(), found: map[string]TrainJob{"bert": run(Succeeded, 1, "A")}},
		"removed, Finished":                  {policy: Policy{Prune: Finished}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}},
		"removed and ended, Finished":        {policy: Policy{Prune: Finished}, record: ran(), found: map[string]TrainJob{"bert": run(Succeeded, 1, "A")}, want: "delete bert"},
		"removed, Always":                    {policy: Policy{Prune: Always}, record: ran(), found: map[string]TrainJob{"bert": run(Active, 1, "A")}, want: "delete bert"},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Policy: tc.policy, Jobs: map[string]Job{}, Record: tc.record, TrainJobs: tc.found}
			if tc.git.Spec != "" {
				tc.git.Name = "bert"
				in.Jobs["bert"] = tc.git
				in.Policy.Succeeded = 1
			}
			if diff := cmp.Diff(tc.want, summary(Make(in))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestDeletedRunRunsAgainOnlyIfItIsNotConfirmed: a run is confirmed if the record says that its TrainJob was created.
// In this test, the cluster does not contain the TrainJob of a run. If the run is not confirmed, a plan must create the
// TrainJob. If the run is confirmed, somebody has deleted the TrainJob, so a plan must not create the TrainJob again.
func TestDeletedRunRunsAgainOnlyIfItIsNotConfirmed(t *testing.T) {
	git := map[string]Job{"bert": {Name: "bert", Spec: "A"}}
	first := Make(Input{Jobs: git})
	if got, want := summary(Make(Input{Jobs: git, Record: first.Record})), "create bert A, Running"; got != want {
		t.Errorf("not confirmed: the plan is %q, want %q", got, want)
	}
	if got := summary(Make(Input{Jobs: git, Record: first.Record.Confirmed(first.Create)})); got != "Ended" {
		t.Errorf("confirmed: the plan is %q, want Ended", got)
	}
	if first.Record["bert"].Runs[0].Created {
		t.Error("Confirmed has changed the record itself")
	}
}

// TestConfirmedKeepsTheNewest marks an old run as created, although a newer run is already marked. The version of the
// newer run must stay the newest version.
func TestConfirmedKeepsTheNewest(t *testing.T) {
	earlier, later := Version{Generation: 1, Spec: "A"}, Version{Generation: 2, Spec: "A", Request: "r"}
	record := Record{"bert": {Newest: later, Reserved: 2, Runs: []Run{{"bert", earlier, false}, {"bert-2", later, true}}}}
	got := record.Confirmed([]Create{{"bert", Run{Name: "bert", Version: earlier}}})["bert"]
	if got.Newest != later || !got.Runs[0].Created {
		t.Errorf("the history is %+v, want the newest version %+v and a created first run", got, later)
	}
}

// TestRetryTexts checks when wantsRetry returns true: the field Retry or Request must have a new value that is not
// empty.
func TestRetryTexts(t *testing.T) {
	ran := Version{Generation: 1, Spec: "A", Retry: "g", Request: "r"}
	for _, tc := range []struct {
		retry, request string
		want           bool
	}{
		{"g", "r", false}, {"g", "", false}, {"", "r", false}, {"", "", false},
		{"g2", "r", true}, {"g", "r2", true}, {"r", "g", true},
	} {
		if got := (Job{Retry: tc.retry, Request: tc.request}).wantsRetry(ran); got != tc.want {
			t.Errorf("Retry %q, Request %q: wantsRetry() = %t, want %t", tc.retry, tc.request, got, tc.want)
		}
	}
}

// TestReplacedJobsRunAgain changes a job, and changes it back while the run of the first version is being deleted.
// After the deletion, the first version must run again.
func TestReplacedJobsRunAgain(t *testing.T) {
	policy := Policy{OnChange: Replace}
	git := map[string]Job{"bert": {Name: "bert", Spec: "B"}}
	stopped := Make(Input{Policy: policy, Jobs: git, Record: ran(), TrainJobs: map[string]TrainJob{"bert": run(Active, 1, "A")}})
	git["bert"] = Job{Name: "bert", Spec: "A"}
	deleting := run(Active, 1, "A")
	deleting.Deleting = true
	if got := summary(Make(Input{Policy: policy, Jobs: git, Record: stopped.Record, TrainJobs: map[string]TrainJob{"bert": deleting}})); got != "Waiting" {
		t.Errorf("while the run is being deleted: %s, want Waiting", got)
	}
	if got := summary(Make(Input{Policy: policy, Jobs: git, Record: stopped.Record})); got != "create bert A, Running" {
		t.Errorf("after the deletion: %s, want a new run", got)
	}
}

// TestJobsOfOtherSourcesStay: two TrainJobSources have the same job in Git, and the job belongs to the first one. A
// plan for the second one must change neither the runs nor the record of the job.
func TestJobsOfOtherSourcesStay(t *testing.T) {
	in := Input{Policy: Policy{Prune: Always}, Record: ran(), TrainJobs: map[string]TrainJob{"bert": run(Active, 1, "A")}, Taken: map[string]string{"bert": "other"}}
	in.Jobs = map[string]Job{"bert": {Name: "bert", Spec: "B"}}
	p := Make(in)
	if got := summary(p); got != "Duplicated" {
		t.Errorf("got %q, want Duplicated", got)
	}
	if diff := cmp.Diff(ran(), p.Record); diff != "" {
		t.Errorf("the record changes: -want +got:\n%s", diff)
	}
}

// TestEarlierRunsOfTakenJobsArePruned checks a job that was removed from the folder of one TrainJobSource, and now
// belongs to another TrainJobSource. The prune policy must also apply to the earlier runs of this job. If the prune
// policy ignored these runs, a deletion of the first TrainJobSource would wait for them forever.
func TestEarlierRunsOfTakenJobsArePruned(t *testing.T) {
	in := Input{Record: ran(), TrainJobs: map[string]TrainJob{"bert": run(Succeeded, 1, "A")}, Taken: map[string]string{"bert": "other"}}
	for prune, want := range map[Prune]string{Always: "delete bert", Finished: "delete bert", Never: ""} {
		in.Policy.Prune = prune
		if got := summary(Make(in)); got != want {
			t.Errorf("%s: got %q, want %q", prune, got, want)
		}
	}
	in.Incomplete, in.Policy.Prune = true, Always
	if got := summary(Make(in)); got != "" {
		t.Errorf("with a mistake in Git: got %q, want no change", got)
	}
}

// TestWithoutNewRuns: a plan that must not create runs must still delete runs.
func TestWithoutNewRuns(t *testing.T) {
	in := Input{
		Policy: Policy{Prune: Always}, Record: ran(), TrainJobs: map[string]TrainJob{"bert": run(Active, 1, "A")},
		Jobs: map[string]Job{"new": {Name: "new", Spec: "A"}},
	}
	if got := summary(Make(in.WithoutNewRuns())); got != "delete bert" {
		t.Errorf("got %q", got)
	}
	if in.Jobs["new"].Denied {
		t.Error("the original input has changed")
	}
}

// TestMissingJobsStayIfGitIsIncomplete: if a file in Git has a problem, a missing job may be in this file, so its run
// must stay.
func TestMissingJobsStayIfGitIsIncomplete(t *testing.T) {
	in := Input{Policy: Policy{Prune: Always}, Incomplete: true, Record: ran(), TrainJobs: map[string]TrainJob{"bert": run(Active, 1, "A")}}
	p := Make(in)
	if got := summary(p); got != "" {
		t.Errorf("got %q, want no change", got)
	}
	if diff := cmp.Diff(ran(), p.Record); diff != "" {
		t.Errorf("the record changes: -want +got:\n%s", diff)
	}
}

// TestReservedRunsStayIfGitIsIncomplete: if a file in Git has a problem, a reserved run must stay in the record. A
// controller that has just lost its leadership may still create the TrainJob of this run.
func TestReservedRunsStayIfGitIsIncomplete(t *testing.T) {
	reserved := Record{"bert": {Reserved: 1, Runs: []Run{{Name: "bert", Version: Version{Generation: 1, Spec: "A"}}}}}
	p := Make(Input{Incomplete: true, Record: reserved})
	if diff := cmp.Diff(reserved, p.Record); diff != "" || summary(p) != "" {
		t.Errorf("got %q, want no change; the record: -want +got:\n%s", summary(p), diff)
	}
}

func TestNamesFitIntoHostNames(t *testing.T) {
	name := hashedName(strings.Repeat("a", 34)+"-"+strings.Repeat("b", 20), Version{Generation: 1, Spec: "A"}, 0)
	if want := strings.Repeat("a", 34) + "-"; !strings.HasPrefix(name, want) || len(name) != len(want)+hashLength {
		t.Errorf("hashedName() = %s, want %s and %d characters", name, want, hashLength)
	}
}

// TestUndeletedRunsStay simulates a controller that planned to delete a run, but crashed before the deletion. The run
// therefore still exists. Git now contains the version of this run again, so the run must stay.
func TestUndeletedRunsStay(t *testing.T) {
	git := map[string]Job{"bert": {Name: "bert", Spec: "A"}}
	record := ran()
	record["bert"] = History{Newest: Version{Generation: 1}, Reserved: 1, Runs: record["bert"].Runs}
	got := summary(Make(Input{Policy: Policy{OnChange: Replace}, Jobs: git, Record: record, TrainJobs: map[string]TrainJob{"bert": run(Active, 1, "A")}}))
	if got != "Running" {
		t.Errorf("got %q, want Running", got)
	}
}

// TestQueuedVersionsWaitForDeletions: while a TrainJob is being deleted, a new version must wait, even if the TrainJob
// has ended. The reason is that pods of the TrainJob may still exist.
func TestQueuedVersionsWaitForDeletions(t *testing.T) {
	deleting := run(Succeeded, 1, "A")
	deleting.Deleting = true
	git := map[string]Job{"bert": {Name: "bert", Spec: "B"}}
	got := summary(Make(Input{Policy: Policy{OnChange: Queue}, Jobs: git, Record: ran(), TrainJobs: map[string]TrainJob{"bert": deleting}}))
	if got != "Waiting" {
		t.Errorf("got %q, want Waiting", got)
	}
}

// TestHistoryLimitsKeepTheNewest: two runs have failed, and the history limit keeps only one of them. The run that
// ended first must be deleted, although it has the newer version.
func TestHistoryLimitsKeepTheNewest(t *testing.T) {
	early, late := run(Failed, 2, "B"), run(Failed, 1, "A")
	early.Ended, late.Ended = 1, 2
	found := map[string]TrainJob{"early": early, "late": late, "succeeded": run(Succeeded, 3, "C")}
	git := map[string]Job{"bert": {Name: "bert", Spec: "C"}}
	got := summary(Make(Input{Policy: Policy{Failed: 1, Succeeded: 1}, Jobs: git, TrainJobs: found}))
	if got != "delete early, Ended" {
		t.Errorf("got %q, want only the TrainJob deleted that ended first", got)
	}
}

// TestDeniedJobHasNoHistory: a denied job that never ran must have no history, because the package "record" refuses a
// history without a reserved generation.
func TestDeniedJobHasNoHistory(t *testing.T) {
	p := Make(Input{Jobs: map[string]Job{"bert": {Name: "bert", Spec: "A", Denied: true}}})
	if len(p.Record) > 0 || p.States["bert"] != Denied {
		t.Errorf("record %v, states %v, want no history and Denied", p.Record, p.States)
	}
}
