package trainjobsource

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// queue is a policy that starts a new version of a job when all earlier runs have ended. The history limits of this
// policy are so high that the plan keeps all ended runs.
var queue = plan.Policy{OnChange: plan.Queue, Prune: plan.Finished, Succeeded: 9, Failed: 9}

// runs returns a sorted list of the TrainJobs of the TrainJobSource, in the form "JOB/GENERATION
// nodes=NUMBER".
func (w *world) runs() []string {
	w.t.Helper()
	var all []string
	for _, t := range w.list() {
		if read := trainjobs.Read(w.source.Name, &t); read.Job != "" {
			all = append(all, fmt.Sprintf("%s/%d nodes=%d", read.Job, read.Version.Generation, *t.Spec.Trainer.NumNodes))
		}
	}
	slices.Sort(all)
	return all
}

// expect calls Reconcile until nothing changes, and then checks the state of the job "bert" and the list of all
// runs.
func (w *world) expect(step string, state plan.State, runs ...string) {
	w.t.Helper()
	states := w.settle()
	if states["bert"] != state {
		w.t.Errorf("%s: bert is %q, want %q", step, states["bert"], state)
	}
	if diff := cmp.Diff(runs, w.runs()); diff != "" {
		w.t.Errorf("%s: -want +got:\n%s", step, diff)
	}
}

func TestLifeOfAJob(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.commit("bert", "numNodes: 3")
	w.expect("edit", plan.Waiting, "bert/1 nodes=2")
	w.end("bert", trainer.TrainJobComplete)
	w.expect("the first run ends", plan.Running, "bert/1 nodes=2", "bert/2 nodes=3")
	w.endAll(trainer.TrainJobFailed)
	w.commit("bert", "numNodes: 2")
	w.expect("revert", plan.Running, "bert/1 nodes=2", "bert/2 nodes=3", "bert/3 nodes=2")
	w.endAll(trainer.TrainJobComplete)
	w.expect("the third run ends", plan.Ended, "bert/1 nodes=2", "bert/2 nodes=3", "bert/3 nodes=2")
	w.commit("bert", "numNodes: 2", ", annotations: {trainyard.dev/retry: again}")
	w.expect("retry", plan.Running, "bert/1 nodes=2", "bert/2 nodes=3", "bert/3 nodes=2", "bert/4 nodes=2")
	w.commit("bert", "")
	w.expect("remove", "", "bert/1 nodes=2", "bert/2 nodes=3", "bert/3 nodes=2", "bert/4 nodes=2")
	w.endAll(trainer.TrainJobComplete)
	w.source.Policy.Prune = plan.Always
	w.expect("prune", "")
	w.commit("bert", "numNodes: 2", ", annotations: {trainyard.dev/retry: again}")
	w.expect("the same version comes back", plan.Ended)
}

func (w *world) endAll(condition string) {
	w.t.Helper()
	for name, t := range w.list() {
		if len(t.Status.Conditions) == 0 {
			w.end(name, condition)
		}
	}
}

func TestDeletedRunsStayDeleted(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	bert := w.list()["bert"]
	if err := w.cp.Client().Delete(t.Context(), &bert); err != nil {
		t.Fatal(err)
	}
	w.expect("delete", plan.Ended)
	w.restart(0)
	w.expect("restart", plan.Ended)
}

// TestRunDeletedAtOnceStaysDeleted deletes a TrainJob right after the round that created it, and restarts the
// controller. The controller must not create the TrainJob again.
func TestRunDeletedAtOnceStaysDeleted(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2")
	if _, err := w.round(); err != nil {
		t.Fatal(err)
	}
	created := w.list()["bert"]
	if err := w.cp.Client().Delete(t.Context(), &created); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	w.expect("deleted at once", plan.Ended)
}

// TestRetriesInGitAndInTheCluster checks a job with two retry annotations: one in the job's file in Git, and one that a
// user sets on the TrainJobSource in the cluster. The user's annotation must start a new run. No new run may start when
// the user removes this annotation, or sets it again with the same text. No new run may start when the annotation in
// Git is removed.
func TestRetriesInGitAndInTheCluster(t *testing.T) {
	w := newWorld(t, queue)
	inGit := ", annotations: {trainyard.dev/retry: g}"
	w.commit("bert", "numNodes: 2", inGit)
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.endAll(trainer.TrainJobComplete)
	w.source.Retries = map[string]string{"bert": "r"}
	w.expect("retry in the cluster", plan.Running, "bert/1 nodes=2", "bert/2 nodes=2")
	w.endAll(trainer.TrainJobComplete)
	w.source.Retries = nil
	w.expect("the text in the cluster is removed", plan.Ended, "bert/1 nodes=2", "bert/2 nodes=2")
	w.source.Retries = map[string]string{"bert": "r"}
	w.commit("bert", "numNodes: 2")
	w.expect("the text in Git is removed", plan.Ended, "bert/1 nodes=2", "bert/2 nodes=2")
}

func TestReplaceDeletesFirst(t *testing.T) {
	w := newWorld(t, plan.Policy{OnChange: plan.Replace, Prune: plan.Finished})
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.commit("bert", "numNodes: 3")
	if result, err := w.round(); err != nil || result.States["bert"] != plan.Waiting || len(w.runs()) > 0 {
		t.Errorf("first round: %v, error %v, runs %v", result, err, w.runs())
	}
	w.expect("replace", plan.Running, "bert/2 nodes=3")
}

func TestSteadyStateWritesNothing(t *testing.T) {
	w := newWorld(t, queue)
	for i := range 20 {
		w.commit(fmt.Sprintf("job-%d", i), "numNodes: 2")
	}
	w.settle()
	writes, reads := w.transport.writes.Load(), w.transport.others.Load()
	for range 10 {
		if _, err := w.round(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.transport.writes.Load() - writes; got != 0 {
		t.Errorf("10 rounds sent %d writes", got)
	}
	if got := w.transport.others.Load() - reads; got != 20 {
		t.Errorf("10 rounds sent %d reads, want 2 each: the records and the TrainJobs", got)
	}
}

// TestLabelsArePatched changes a label of a job in Git. The controller must start no new run. Instead, the controller
// must patch the labels of the existing TrainJob. The patch must keep the labels and fields that other programs have
// set.
func TestLabelsArePatched(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2", ", labels: {team: a, old: x}")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	bert := w.list()["bert"]
	patch := client.MergeFrom(bert.DeepCopy())
	bert.Spec.Suspend = new(true) // as Kueue does
	bert.Labels["kueue.example/own"] = "y"
	if err := w.cp.Client().Patch(t.Context(), &bert, patch); err != nil {
		t.Fatal(err)
	}
	w.commit("bert", "numNodes: 2", ", labels: {team: b}")
	w.expect("change labels", plan.Running, "bert/1 nodes=2")
	got := w.list()["bert"]
	want := map[string]string{"team": "b", "kueue.example/own": "y", trainjobs.SourceLabel: "jobs", trainjobs.JobLabel: "bert"}
	if diff := cmp.Diff(want, got.Labels); diff != "" || got.Spec.Suspend == nil || !*got.Spec.Suspend {
		t.Errorf("suspend %v, labels -want +got:\n%s", got.Spec.Suspend, diff)
	}
}

// TestLabelsDoNotResume checks that a TrainJob suspended by Kueue stays suspended when a label changes in Git. When the
// controller creates the TrainJob, Kueue's webhook sets the field "suspend" in the controller's request. The API server
// therefore records the sender of the request, the controller, as the owner of this field. If a later apply of the
// controller did not contain the field, the API server would remove the field, and so resume the TrainJob.
func TestLabelsDoNotResume(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2", ", labels: {team: a}")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	bert := w.list()["bert"]
	patch := client.MergeFrom(bert.DeepCopy())
	bert.Spec.Suspend = new(true)
	if err := w.cp.Client().Patch(t.Context(), &bert, patch, client.FieldOwner("trainyard-controller")); err != nil {
		t.Fatal(err)
	}
	w.commit("bert", "numNodes: 2", ", labels: {team: b}")
	w.expect("change labels", plan.Running, "bert/1 nodes=2")
	if got := w.list()["bert"]; got.Labels["team"] != "b" || got.Spec.Suspend == nil || !*got.Spec.Suspend {
		t.Errorf("suspend is %v and labels are %v, want a suspended TrainJob of team b", got.Spec.Suspend, got.Labels)
	}
}

// TestTakenName checks that a run gets a longer name if a user's TrainJob already has the name of the job.
func TestTakenName(t *testing.T) {
	w := newWorld(t, queue)
	users := &trainer.TrainJob{Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "mpi"}}}
	users.Name, users.Namespace = "bert", w.source.Namespace
	if err := w.cp.Client().Create(t.Context(), users); err != nil {
		t.Fatal(err)
	}
	w.commit("bert", "numNodes: 2")
	w.expect("the name is taken", plan.Running, "bert/1 nodes=2")
	if names := slices.Sorted(maps.Keys(w.list())); len(names) != 2 || names[0] != "bert" || !strings.HasPrefix(names[1], "bert-") {
		t.Errorf("TrainJobs %v, want bert of the user and one with a longer name", names)
	}

}

// TestJobInTwoSources: if two TrainJobSources contain a job with the same name, only the first TrainJobSource runs the
// job. Before the second TrainJobSource can run the job, two conditions must be met. First, the job must be removed
// from the first TrainJobSource. Second, the last run that the first TrainJobSource started for this job must have
// ended.
func TestJobInTwoSources(t *testing.T) {
	w := newWorld(t, queue)
	in := func(source string) { w.source.Name = source }
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	in("other")
	w.expect("the first source has the job", plan.Duplicated)
	w.endAll(trainer.TrainJobComplete)
	w.expect("its run has ended", plan.Duplicated)
	in("jobs")
	w.commit("bert", "numNodes: 3")
	w.expect("edit", plan.Running, "bert/1 nodes=2", "bert/2 nodes=3")
	w.commit("bert", "")
	w.settle()
	in("other")
	w.commit("bert", "numNodes: 4")
	w.expect("the first source has removed the job, and its run is active", plan.Duplicated)
	w.endAll(trainer.TrainJobComplete)
	w.expect("the last run of the first source has ended", plan.Running, "bert/1 nodes=4")
	in("jobs")
	w.commit("bert", "numNodes: 2")
	w.expect("the first source has the job again", plan.Duplicated, "bert/1 nodes=2", "bert/2 nodes=3")
}

// TestDeletedSourceReleasesItsJobs: after a TrainJobSource was deleted, another TrainJobSource can run the jobs of the
// deleted TrainJobSource. Before the other TrainJobSource runs a job, the last run of this job must have ended. If the
// deleted TrainJobSource is created again, it must not repeat its earlier runs.
func TestDeletedSourceReleasesItsJobs(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.deleted["jobs"], w.source.Name = true, "other"
	w.expect("the run of the deleted source is active", plan.Duplicated)
	w.endAll(trainer.TrainJobComplete)
	w.source.DryRun = true
	w.expect("the run has ended, and the plan is not carried out", plan.Running)
	w.source.DryRun = false
	w.expect("the run has ended", plan.Running, "bert/1 nodes=2")
	w.deleted, w.source.Name = map[string]bool{}, "jobs"
	w.expect("the deleted source exists again", plan.Duplicated, "bert/1 nodes=2")
	w.source.Name = "other"
	w.commit("bert", "")
	w.settle()
	w.endAll(trainer.TrainJobComplete)
	w.source.Name = "jobs"
	w.commit("bert", "numNodes: 2")
	w.expect("its last version is in Git again", plan.Ended, "bert/1 nodes=2")
}

// TestDeniedJobsStartNoRun: the earlier runs of a denied job stay, and the job runs as soon as the rules allow it.
func TestDeniedJobsStartNoRun(t *testing.T) {
	w := newWorld(t, plan.Policy{OnChange: plan.Replace, Prune: plan.Always})
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.denied = map[string]bool{"bert": true}
	w.expect("a rule that comes later", plan.Running, "bert/1 nodes=2")
	w.commit("bert", "numNodes: 3")
	w.expect("edit", plan.Denied, "bert/1 nodes=2")
	w.denied = nil
	w.expect("allowed", plan.Running, "bert/2 nodes=3")
}

// TestDryRunWritesNothing checks that a dry run returns the plan and sends no write request.
func TestDryRunWritesNothing(t *testing.T) {
	w := newWorld(t, queue)
	w.source.DryRun = true
	w.commit("bert", "numNodes: 2")
	w.expect("plan", plan.Running)
	if got := w.transport.writes.Load(); got != 0 {
		t.Errorf("the dry run sent %d writes", got)
	}
}

// TestNameTakenDuringARound: after a round has chosen a name, a user creates a TrainJob with this name. The user's
// TrainJob must not change.
func TestNameTakenDuringARound(t *testing.T) {
	w := newWorld(t, queue)
	w.transport.before[createRequest] = func() {
		users := &trainer.TrainJob{Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "mpi"}}}
		users.Name, users.Namespace = "bert", w.source.Namespace
		if err := w.cp.Client().Create(t.Context(), users); err != nil {
			t.Error(err)
		}
	}
	w.commit("bert", "numNodes: 2")
	if _, err := w.round(); err == nil || !strings.Contains(err.Error(), "another TrainJob with this name was created just now") {
		t.Errorf("the round returns %v, want an error about the name", err)
	}
	if got := w.list()["bert"]; len(got.Labels) > 0 || got.Spec.Trainer != nil {
		t.Errorf("the user's TrainJob has changed: labels %v, trainer %v", got.Labels, got.Spec.Trainer)
	}
	w.expect("the next round", plan.Running, "bert/1 nodes=2")
}

// TestRepeatedCreateIsNoError checks that a round succeeds even if the response to a create request is lost and the
// client repeats the request.
func TestRepeatedCreateIsNoError(t *testing.T) {
	w := newWorld(t, queue)
	w.transport.repeatCreates = true
	w.commit("bert", "numNodes: 2")
	if _, err := w.round(); err != nil {
		t.Fatal(err)
	}
	w.expect("the next round", plan.Running, "bert/1 nodes=2")
}

// TestLabelsArePatchedAfterAConflict runs a round that first patches the managedFields of a TrainJob, and then
// its labels. Just before the first patch, the test changes the status of the TrainJob, so the patch fails with
// a conflict. The round must repeat this patch, and then patch the labels.
func TestLabelsArePatchedAfterAConflict(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2", ", labels: {team: a}")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.transport.before[convertRequest] = func() { w.end("bert", trainer.TrainJobComplete) }
	w.commit("bert", "numNodes: 2", ", labels: {team: b}")
	if _, err := w.round(); err != nil {
		t.Fatal(err)
	}
	if got := w.list()["bert"].Labels["team"]; got != "b" {
		t.Errorf("the label is %q, want b", got)
	}
}

// TestRunDeletedDuringARound simulates a user who deletes a run in the middle of a round, before the round patches the
// labels of the run. The patch for the labels must not create the deleted run again.
func TestRunDeletedDuringARound(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.transport.before[applyRequest] = func() {
		bert := w.list()["bert"]
		if err := w.cp.Client().Delete(t.Context(), &bert); err != nil {
			t.Error(err)
		}
	}
	w.commit("bert", "numNodes: 2", ", labels: {team: a}")
	if _, err := w.round(); err == nil || !strings.Contains(err.Error(), "uid mismatch") {
		t.Errorf("the round returns %v, want the refusal of a patch", err)
	}
	w.expect("the next round", plan.Ended)
}

// TestUnreadableFilesStopNothing: if the file of a job cannot be read, the runs of the job must stay. With the policy
// Always, the controller deletes the runs of a job when the job's file is removed from Git. An unreadable file does not
// count as removed.
func TestUnreadableFilesStopNothing(t *testing.T) {
	w := newWorld(t, plan.Policy{OnChange: plan.Queue, Prune: plan.Always})
	w.commit("bert", "numNodes: 2")
	w.expect("create", plan.Running, "bert/1 nodes=2")
	w.commit("bert", "numNodes: [")
	w.expect("a mistake", "", "bert/1 nodes=2")
	w.commit("bert", "")
	w.expect("remove", "")
}
