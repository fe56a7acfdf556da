package trainjobsource

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
	"github.com/trainyard/trainyard/test/controlplane"
)

// TestJobsFollowGit creates, edits and renames a job in Git, and checks after each change which runs exist. The test
// covers all values of onChange and prune.
func TestJobsFollowGit(t *testing.T) {
	l := newLive(t)
	first := l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.create()
	l.waitRuns("create", "bert/1 nodes=2")
	l.waitApplied(first)
	l.wait("True", v1alpha1.ReasonApplied)
	if r, s := l.condition(v1alpha1.ReconcilingCondition), l.condition(v1alpha1.StalledCondition); r != "False Applied" || s != "False Applied" {
		t.Errorf("Reconciling is %s and Stalled is %s, want both False", r, s)
	}
	if got := l.object.Status.Applied.Ref; got != "refs/heads/main" {
		t.Errorf("the reference is %q, want refs/heads/main", got)
	}

	l.push("bert", "numNodes: 3")
	l.sync()
	l.waitState("bert", "Waiting", "bert")
	l.endRun()
	l.waitRuns("Queue: a waiting job starts when the earlier run ends", "bert/1 nodes=2", "bert/2 nodes=3")

	l.change(`{"spec":{"onChange":"RunAlongside"}}`)
	l.push("bert", "numNodes: 2")
	l.sync()
	l.waitRuns("RunAlongside: the first version again", "bert/1 nodes=2", "bert/2 nodes=3", "bert/3 nodes=2")

	l.change(`{"spec":{"onChange":"Replace"}}`)
	l.push("bert", "numNodes: 4")
	l.sync()
	l.waitRuns("Replace", "bert/1 nodes=2", "bert/4 nodes=4")

	l.change(`{"spec":{"onChange":"Ignore"}}`)
	l.push("bert", "numNodes: 5")
	l.sync()
	l.waitState("bert", "Ignored", l.runName("bert/4"))

	l.change(`{"spec":{"onChange":"Queue","prune":"Never"}}`)
	l.push("bert", "")
	l.push("gpt", "numNodes: 5")
	l.sync()
	l.waitRuns("rename, and prune Never", "bert/1 nodes=2", "bert/4 nodes=4", "gpt/1 nodes=5")

	l.change(`{"spec":{"prune":"Finished","historyLimits":{"succeeded":0}}}`)
	l.waitRuns("prune Finished: a running TrainJob stays", "bert/4 nodes=4", "gpt/1 nodes=5")

	l.change(`{"spec":{"prune":"Always"}}`)
	l.waitRuns("prune Always", "gpt/1 nodes=5")
}

// TestRetryAnnotation checks that a new value of the annotation retry.trainyard.dev/JOB starts a new run of a job that has
// not changed in Git.
func TestRetryAnnotation(t *testing.T) {
	l := newLive(t)
	l.push("gpt", "numNodes: 2")
	l.run(l.options())
	l.create()
	l.waitRuns("create", "gpt/1 nodes=2")
	l.end("gpt", trainer.TrainJobFailed)
	l.waitState("gpt", "Ended", "gpt")
	packs := l.server.Packs()

	l.change(`{"metadata":{"annotations":{"retry.trainyard.dev/gpt":"2026-11-26T16:00:00Z"}}}`)
	l.waitRuns("retry", "gpt/1 nodes=2", "gpt/2 nodes=2")
	l.end(l.runName("gpt/2"), trainer.TrainJobComplete)
	l.waitState("gpt", "Ended", l.runName("gpt/2"))

	l.change(`{"metadata":{"annotations":{"retry.trainyard.dev/gpt":"2026-11-26T17:00:00Z","retry.trainyard.dev/other":"1"}}}`)
	l.waitRuns("retry again", "gpt/1 nodes=2", "gpt/2 nodes=2", "gpt/3 nodes=2")
	l.change(`{"metadata":{"annotations":{"retry.trainyard.dev/gpt":null}}}`)
	l.end(l.runName("gpt/3"), trainer.TrainJobComplete)
	l.waitState("gpt", "Ended", l.runName("gpt/3"))
	l.waitRuns("the annotation is removed", "gpt/1 nodes=2", "gpt/2 nodes=2", "gpt/3 nodes=2")
	if got := l.server.Packs(); got != packs {
		t.Errorf("retries downloaded the commit %d times, want none", got-packs)
	}
}

func (l *live) waitState(job, state, run string) {
	l.t.Helper()
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		for _, found := range s.Status.Jobs {
			if found.Name == job && found.State == state && found.Run == run {
				return nil
			}
		}
		return fmt.Errorf("the jobs are %+v, want %s of %s with run %s", s.Status.Jobs, state, job, run)
	})
}

// runName returns the name of the TrainJob that belongs to a run. The argument "run" has the form
// JOB/GENERATION.
func (l *live) runName(run string) string {
	l.t.Helper()
	for name, t := range l.list() {
		read := trainjobs.Read("jobs", &t)
		if fmt.Sprintf("%s/%d", read.Job, read.Version.Generation) == run {
			return name
		}
	}
	l.t.Fatalf("there is no run %s", run)
	return ""
}

// TestGitHistories checks changes in Git other than a new commit on a branch: a forced push, a missing branch and a moved
// tag.
func TestGitHistories(t *testing.T) {
	l := newLive(t)
	first := l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.object.Spec.Ref = &v1alpha1.GitRef{Branch: "main"}
	l.object.Spec.OnChange = v1alpha1.ChangeRunAlongside
	l.create()
	l.waitApplied(first)

	l.commit("bert", "numNodes: 3")
	forced, err := l.git.ForcePush(map[string]string{"bert.yaml": string(l.files["bert.yaml"].Data)}, "forced")
	if err != nil {
		t.Fatal(err)
	}
	l.sync()
	l.waitApplied(forced)
	l.waitRuns("forced push", "bert/1 nodes=2", "bert/2 nodes=3")

	l.change(`{"spec":{"verify":{"linearHistory":true}}}`)
	l.wait("True", v1alpha1.ReasonApplied)
	l.commit("bert", "numNodes: 4")
	if _, err := l.git.ForcePush(map[string]string{"bert.yaml": string(l.files["bert.yaml"].Data)}, "forced again"); err != nil {
		t.Fatal(err)
	}
	l.sync()
	l.wait("False", v1alpha1.ReasonVerificationFailed)
	if got := l.condition(v1alpha1.StalledCondition); got != "True VerificationFailed" {
		t.Errorf("Stalled is %s, want True, because trying again does not help", got)
	}
	l.waitRuns("forced push with linearHistory", "bert/1 nodes=2", "bert/2 nodes=3")

	l.change(`{"spec":{"verify":null,"ref":{"branch":"gone"}}}`)
	l.wait("False", v1alpha1.ReasonFetchFailed)
	if !strings.Contains(l.message(), "gone") {
		t.Errorf("the message is %q, want the name of the branch", l.message())
	}
	l.waitRuns("a missing branch", "bert/1 nodes=2", "bert/2 nodes=3")

	if err := l.git.Tag("v1", "first"); err != nil {
		t.Fatal(err)
	}
	l.change(`{"spec":{"ref":{"branch":null,"tag":"v1"}}}`)
	l.wait("True", v1alpha1.ReasonApplied)
	moved := l.push("bert", "numNodes: 6")
	if _, err := l.git.Git("tag", "-f", "-a", "-m", "moved", "v1"); err != nil {
		t.Fatal(err)
	}
	l.sync()
	l.waitApplied(moved)
	if got := l.object.Status.Applied.Ref; got != "refs/tags/v1" {
		t.Errorf("the reference is %q, want refs/tags/v1", got)
	}
}

// TestLinearHistoryAfterAProblem pushes a commit with a good file and a broken file. The controller applies only the good
// file. A forced push then removes the commit with the broken file. With the setting linearHistory, the controller must
// refuse the forced push.
func TestLinearHistoryAfterAProblem(t *testing.T) {
	l := newLive(t)
	first := l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.object.Spec.OnChange = v1alpha1.ChangeRunAlongside
	l.object.Spec.Verify = &v1alpha1.Verification{LinearHistory: true}
	l.create()
	l.waitApplied(first)
	l.pushFiles(map[string]string{"bert.yaml": jobText("bert", ""), "broken.yaml": "a: ["})
	l.sync()
	l.wait("False", v1alpha1.ReasonJobsInvalid)
	if _, err := l.git.ForcePush(map[string]string{"bert.yaml": string(l.files["bert.yaml"].Data), "broken.yaml": ""}, "forced"); err != nil {
		t.Fatal(err)
	}
	l.sync()
	l.wait("False", v1alpha1.ReasonVerificationFailed)
}

// TestDeniedJobDoesNotStopOthers commits two jobs, and a file that is not valid YAML. An admission rule denies one of
// the jobs. The other job is good. The good job must run, and the status must describe both jobs and the file.
func TestDeniedJobDoesNotStopOthers(t *testing.T) {
	l := newLive(t)
	l.push("big", "numNodes: 100000")
	l.pushFile("broken.yaml", "a: b\n\tc: d\n")
	l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.create()
	l.wait("False", v1alpha1.ReasonJobsInvalid)
	l.waitRuns("the other job runs", "bert/1 nodes=2")
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if s.Status.Summary.Active != 1 {
			return fmt.Errorf("the summary is %+v", s.Status.Summary)
		}
		return nil
	})
	status := l.object.Status
	if got := l.condition(v1alpha1.StalledCondition); got != "True JobsInvalid" {
		t.Errorf("Stalled is %s", got)
	}
	want := v1alpha1.JobSummary{Jobs: 2, Active: 1, Problems: 2}
	if diff := cmp.Diff(want, status.Summary); diff != "" {
		t.Errorf("summary: -want +got:\n%s", diff)
	}
	if job := status.Jobs[0]; job.Name != "big" || job.State != "Denied" || !strings.Contains(job.Message, "node-limit") || job.Run != "" {
		t.Errorf("the first job is %+v, want the denied job with the name of the rule", job)
	}
	if job := status.Jobs[1]; job.Name != "bert" || job.State != "Running" || job.Run != "bert" || job.Phase != "Active" {
		t.Errorf("the second job is %+v, want the running job", job)
	}
	where := map[string]int32{}
	for _, p := range status.Problems {
		where[p.File] = p.Line
	}
	if diff := cmp.Diff(map[string]int32{"big.yaml": 1, "broken.yaml": 2}, where); diff != "" {
		t.Errorf("problems: -want +got:\n%s", diff)
	}

	l.push("big", "numNodes: 4")
	l.pushFile("broken.yaml", "")
	l.sync()
	l.wait("True", v1alpha1.ReasonApplied)
	l.waitRuns("the mistakes are mended", "bert/1 nodes=2", "big/1 nodes=4")
}

func TestSuspendAndDryRun(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	l.object.Spec.DryRun = true
	l.run(l.options())
	l.create()
	l.wait("True", v1alpha1.ReasonDryRun)
	if job := l.object.Status.Jobs[0]; job.Name != "bert" || job.State != "Running" || job.Run != "" {
		t.Errorf("the plan of the dry run is %+v, want a new run", job)
	}
	if l.object.Status.Applied != nil || len(l.list()) > 0 {
		t.Errorf("the dry run has applied %+v, and there are TrainJobs %v", l.object.Status.Applied, l.list())
	}

	l.change(`{"spec":{"dryRun":false}}`)
	l.waitRuns("after the dry run", "bert/1 nodes=2")
	l.wait("True", v1alpha1.ReasonApplied)

	l.change(`{"spec":{"suspend":true}}`)
	l.push("bert", "")
	l.push("gpt", "numNodes: 3")
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if got := l.condition(v1alpha1.ReconcilingCondition); got != "False Suspended" || s.Status.ObservedGeneration != s.Generation {
			return fmt.Errorf("Reconciling is %s", got)
		}
		return nil
	})
	if got := l.condition(v1alpha1.ReadyCondition); got != "True Applied" {
		t.Errorf("Ready is %s, want its last value", got)
	}
	l.change(`{"metadata":{"annotations":{"trainyard.dev/sync":"while suspended"}}}`)
	l.endRun()
	l.waitRuns("suspended", "bert/1 nodes=2")

	l.change(`{"spec":{"suspend":false}}`)
	l.waitRuns("resumed", "bert/1 nodes=2", "gpt/1 nodes=3")
}

// TestDeletedSource checks which runs exist after a TrainJobSource is deleted, and after it is created again. The test
// covers all values of prune.
func TestDeletedSource(t *testing.T) {
	for _, prune := range []v1alpha1.PrunePolicy{v1alpha1.PruneNever, v1alpha1.PruneFinished, v1alpha1.PruneAlways} {
		t.Run(string(prune), func(t *testing.T) {
			l := newLive(t)
			l.push("bert", "numNodes: 2")
			l.object.Spec.Prune = prune
			l.run(l.options())
			l.create()
			l.waitRuns("create", "bert/1 nodes=2")
			l.wait("True", v1alpha1.ReasonApplied)
			l.eventually(func(s *v1alpha1.TrainJobSource) error {
				if has := len(s.Finalizers) > 0; has != (prune == v1alpha1.PruneAlways) {
					return fmt.Errorf("the finalizers are %v", s.Finalizers)
				}
				return nil
			})
			if err := l.cp.Client().Delete(t.Context(), l.object); err != nil {
				t.Fatal(err)
			}
			l.waitGone()
			want := []string{"bert/1 nodes=2"}
			if prune == v1alpha1.PruneAlways {
				want = nil
			}
			if diff := cmp.Diff(want, l.runs()); diff != "" {
				t.Errorf("runs after the deletion: -want +got:\n%s", diff)
			}
			l.object = l.newSource("jobs")
			l.create()
			l.wait("True", v1alpha1.ReasonApplied)
			if prune == v1alpha1.PruneAlways {
				want = []string{"bert/2 nodes=2"} // the first run was stopped before its end
			}
			l.waitRuns("created again", want...)
		})
	}
}

func (l *live) waitGone() {
	l.t.Helper()
	controlplane.Eventually(l.t, func(ctx context.Context) error {
		l.completeDeletions()
		err := l.cp.Client().Get(ctx, client.ObjectKeyFromObject(l.object), l.object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the TrainJobSource still exists: conditions %+v, error %w", l.object.Status.Conditions, err)
	})
}
