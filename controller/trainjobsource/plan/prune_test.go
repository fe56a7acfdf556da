package plan

import (
	"fmt"
	"testing"
)

func TestForgetsOldestRemovedJobs(t *testing.T) {
	record := Record{"in-git": {Newest: Version{Generation: 1, Spec: "A"}, Reserved: 1}, "running": {Newest: Version{Generation: 1, Spec: "A"}, Reserved: 1}}
	for i := range removedJobs + 1 {
		record[fmt.Sprintf("old-%d", i)] = History{Newest: Version{Generation: 1, Spec: "A"}, Reserved: 1, Removed: int64(i + 1)}
	}
	running := TrainJob{Phase: Active, Job: "running", Version: Version{Generation: 1, Spec: "A"}}
	in := Input{Jobs: map[string]Job{"in-git": {Name: "in-git", Spec: "A"}}, TrainJobs: map[string]TrainJob{"running": running}, Now: 9000}
	in.Record = record
	got := Make(in).Record
	if _, known := got["old-0"]; known || len(got) != removedJobs+2 || got["old-1"].Removed != 2 {
		t.Errorf("%d jobs, old-0: %v, old-1: %+v", len(got), known, got["old-1"])
	}
	if got["in-git"].Removed != 0 || got["running"].Removed != 9000 {
		t.Errorf("in-git: %+v, running: %+v", got["in-git"], got["running"])
	}

	in.TrainJobs, in.Record = nil, Record{"running": got["running"]}                 // its TrainJob was deleted
	in.Jobs["running"], in.Record = Job{Name: "running", Spec: "A"}, Make(in).Record // somebody adds the job again
	if p := Make(in); p.Record["running"].Removed != 0 || len(p.Create) > 0 && p.Create[0].Job == "running" {
		t.Errorf("after the job was added again: %+v", p)
	}
}

// TestHistoryLimitKeepsTheNewestRun: if two runs ended in the same second, the run of the newer version must stay.
func TestHistoryLimitKeepsTheNewestRun(t *testing.T) {
	in := Input{Policy: Policy{Succeeded: 1}, Jobs: map[string]Job{"a": {Name: "a", Spec: "B"}}, TrainJobs: map[string]TrainJob{}}
	for i, spec := range []string{"A", "B"} {
		in.TrainJobs[fmt.Sprintf("a-%s", spec)] = TrainJob{Phase: Succeeded, Ended: 7, Job: "a", Version: Version{Generation: i + 1, Spec: spec}}
	}
	if p := Make(in); len(p.Delete) != 1 || p.Delete[0] != "a-A" || len(p.Create) > 0 {
		t.Errorf("the plan deletes %v and creates %v, want only the deletion of a-A", p.Delete, p.Create)
	}
}
