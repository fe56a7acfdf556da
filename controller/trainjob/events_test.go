package trainjob

import (
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/jobs"
)

// start is the creation time of the TrainJobs in the tests.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// snapshotOf returns a TrainJob with a launcher pod. The argument "condition" is the type of the final condition, such
// as Failed, or empty if the TrainJob has not ended.
func snapshotOf(condition string, started bool) jobs.Snapshot {
	job := trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bert", UID: "1", CreationTimestamp: metav1.NewTime(start)}}
	job.Spec.RuntimeRef.Name = "mpi"
	if condition != "" {
		job.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(time.Minute))}}
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "bert-launcher-0-0-abcde", CreationTimestamp: metav1.NewTime(start),
		Labels: map[string]string{jobs.JobSetLabel: "bert", "jobset.sigs.k8s.io/replicatedjob-name": "launcher"},
	}}
	if started {
		pod.Spec.NodeName = "a"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: jobs.MainContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(start.Add(20 * time.Second))}},
		}}
	}
	return jobs.MakeSnapshot(job, []corev1.Pod{pod})
}

func TestNotes(t *testing.T) {
	running, complete, failed := snapshotOf("", true), snapshotOf(trainer.TrainJobComplete, true), snapshotOf(trainer.TrainJobFailed, false)
	for name, tc := range map[string]struct {
		snapshot      jobs.Snapshot
		before, after jobs.Phase
		want          string
	}{
		"a new TrainJob":             {running, "", jobs.Pending, "JobSubmitted"},
		"nothing happened":           {running, jobs.Running, jobs.Running, ""},
		"the pods exist":             {running, jobs.Pending, jobs.GangScheduling, "GangSchedulingStarted"},
		"the pods are assigned":      {running, jobs.GangScheduling, jobs.Initializing, ""},
		"the training starts":        {running, jobs.Initializing, jobs.Running, "PodsReady TrainingStarted"},
		"everything between reports": {complete, "", jobs.Succeeded, "JobSubmitted GangSchedulingStarted PodsReady TrainingStarted TrainingComplete"},
		"a failure before the start": {failed, jobs.Pending, jobs.Failed, "TrainingFailed"},
		"a failure of the training":  {snapshotOf(trainer.TrainJobFailed, true), jobs.Initializing, jobs.Failed, "PodsReady TrainingStarted TrainingFailed"},
		"a new attempt":              {running, jobs.Running, jobs.GangScheduling, "GangSchedulingStarted"},
		"a suspended TrainJob":       {running, jobs.Running, jobs.Suspended, ""},
		"a resumed TrainJob":         {running, jobs.Suspended, jobs.GangScheduling, "GangSchedulingStarted"},
	} {
		t.Run(name, func(t *testing.T) {
			var reasons []string
			after := state{Phase: tc.after}
			after.ended = after.isFinal()
			for _, n := range notes(tc.snapshot, state{Phase: tc.before}, after) {
				reasons = append(reasons, n.reason)
			}
			if got := strings.Join(reasons, " "); got != tc.want {
				t.Errorf("events %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFailuresAreReportedOnce checks that the event TrainingFailed is written once, after the search for the cause of the
// failure has ended.
func TestFailuresAreReportedOnce(t *testing.T) {
	snapshot := snapshotOf(trainer.TrainJobFailed, false)
	found := state{Phase: jobs.Failed}
	explained := state{Phase: jobs.Failed, ended: true, Message: "OutOfMemory"}
	if got := notes(snapshot, state{Phase: jobs.Pending}, found); len(got) > 0 {
		t.Errorf("before the explanation: %v", got)
	}
	if got := notes(snapshot, found, explained); len(got) != 1 || got[0] != (note{corev1.EventTypeWarning, ReasonTrainingFailed, "OutOfMemory"}) {
		t.Errorf("after the explanation: %v", got)
	}
	if got := notes(snapshot, explained, explained); len(got) > 0 {
		t.Errorf("after the event: %v", got)
	}
}

func TestNotesAreShort(t *testing.T) {
	text := shorten(strings.Repeat("ü", 600))
	if len(text) > 1024 || !strings.HasSuffix(text, "ü…") {
		t.Errorf("a note of %d bytes: %q", len(text), text[len(text)-8:])
	}
}

// TestOldEndsAreNotReported checks that isOld returns true for TrainJobs that ended long before the controller saw them
// for the first time.
func TestOldEndsAreNotReported(t *testing.T) {
	ended := snapshotOf(trainer.TrainJobComplete, true)
	for name, tc := range map[string]struct {
		before   jobs.Phase
		after    time.Duration // time between the end and the report
		readOnly bool
		want     bool
	}{
		"ended long ago":                    {"", 2 * time.Hour, false, true},
		"ended just now":                    {"", time.Minute, false, false},
		"ended just now, in read-only mode": {"", time.Minute, true, true}, // the controller began afterwards
		"was seen before, ended later":      {jobs.Running, 2 * time.Hour, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Controller{ReadOnly: tc.readOnly, began: start.Add(90 * time.Second)}
			if got := c.isOld(ended, state{Phase: tc.before}, start.Add(time.Minute+tc.after)); got != tc.want {
				t.Errorf("isOld = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestPhasesAreComplete(t *testing.T) {
	for _, phase := range phases {
		if _, known := stages[phase]; !known && !(state{Phase: phase}).isFinal() {
			t.Errorf("phase %s has no stage", phase)
		}
	}
	if !slices.Contains(phases, jobs.Suspended) {
		t.Error("the list of phases is incomplete")
	}
}
