package jobs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

func logText(lines ...string) []diagnosis.Text {
	return []diagnosis.Text{{Source: diagnosis.Log, From: "log of container node in pod bert-node-0-0-abcde", Pod: "bert-node-0-0-abcde", Message: strings.Join(lines, "\n")}}
}

func describe(e Explanation) string {
	var all []string
	for _, c := range e.Causes {
		all = append(all, fmt.Sprintf("%s x%d", c.Code, c.Count))
	}
	for _, x := range e.Excerpts {
		all = append(all, fmt.Sprintf("%s: %s", x.Source, strings.Join(x.Lines, " / ")))
	}
	return strings.Join(all, "; ")
}

func TestExplain(t *testing.T) {
	oom := []diagnosis.Text{{Source: diagnosis.Cluster, From: "state", Message: "OOMKilled: exit code 137"}}
	jobFailed := []diagnosis.Text{{Source: diagnosis.Cluster, From: "condition", Message: "jobset failed due to one or more job failures"}}
	isFailed, isComplete := newSnapshot(setCondition(trainer.TrainJobFailed)), newSnapshot(setCondition(trainer.TrainJobComplete))
	for name, tc := range map[string]struct {
		snapshot      Snapshot
		cluster, logs []diagnosis.Text
		want          string
	}{
		"a cause":                {isFailed, append(oom, jobFailed...), logText("An MPI communication peer process has unexpectedly disconnected."), "OutOfMemory x1; PeerDisconnected x1; JobFailed x1"},
		"nothing is wrong":       {newSnapshot(nil), nil, nil, ""},
		"a TrainJob that passed": {isComplete, oom, nil, ""},
		"one failure twice":      {isFailed, append(oom, oom...), nil, "OutOfMemory x2"},
		"only a symptom":         {isFailed, jobFailed, logText("step 1", "", "my own error: HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz"), "JobFailed x1; log of container node in pod bert-node-0-0-abcde: step 1 / my own error: HF_TOKEN=[secret]"},
		"only a symptom, no log": {isFailed, jobFailed, nil, "JobFailed x1; condition: jobset failed due to one or more job failures"},
		"a long log":             {isFailed, nil, logText(strings.Repeat("a\n", 2000), "b", strings.Repeat("c", 1000)), "log of container node in pod bert-node-0-0-abcde: " + strings.Repeat("a / ", 8) + "b / " + strings.Repeat("c", 300) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, describe(tc.snapshot.explain(tc.cluster, tc.logs, nil))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	missing := isFailed.explain(nil, nil, []error{errors.New("no\x1b[2J permission")}).Missing
	if diff := cmp.Diff([]string{"no permission"}, missing); diff != "" {
		t.Errorf("missing: -want +got:\n%s", diff)
	}
}

func TestEventsOfTheTrainJob(t *testing.T) {
	placed := newPod(Node, "a", waiting)
	placed.UID = "1"
	ready := newPod(Node, "a", running)
	ready.UID, ready.Status.Conditions = "2", []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	snapshot := newSnapshot(setRoles("launcher", "node"), placed, ready)
	isSuspended := newSnapshot(suspend)
	later := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(created.Add(time.Hour))}}
	isRunning := newSnapshot(nil, newPod(Launcher, "a", later))
	hasFailed := newSnapshot(setCondition(trainer.TrainJobFailed), placed)
	for name, tc := range map[string]struct {
		snapshot         Snapshot
		kind, object     string
		uid              types.UID
		reason           string
		age              time.Duration // after the creation of the TrainJob
		concerns, isOver bool
	}{
		"the TrainJob":                {isSuspended, "TrainJob", "bert", "", "TrainingRuntimeNotSupported", 0, true, false},
		"a deleted TrainJob":          {snapshot, "TrainJob", "bert", "x", "TrainingRuntimeNotSupported", 0, false, false},
		"the JobSet of another":       {snapshot, "JobSet", "bert-2", "x", "JobCreationFailed", 0, false, false},
		"a Job":                       {snapshot, "Job", "bert-node-0", "x", "FailedCreate", 0, true, false},
		"a Job of another":            {snapshot, "Job", "bert-2-node-0", "x", "FailedCreate", 0, false, false},
		"before the training started": {isRunning, "Job", "bert-node-0", "x", "FailedCreate", 0, true, true},
		"while the training runs":     {isRunning, "Job", "bert-node-0", "x", "FailedCreate", 2 * time.Hour, true, false},
		"a pod":                       {snapshot, "Pod", "bert-node-0-1-abcde", "x", "Failed", 0, true, false},
		"a pod of another":            {snapshot, "Pod", "bert-node-0-node-0-1-abcde", "x", "Failed", 0, false, false},
		"a pod that was placed":       {snapshot, "Pod", "bert-node-0-0-abcde", "1", "FailedScheduling", 0, true, true},
		"a pod that was placed, pull": {snapshot, "Pod", "bert-node-0-0-abcde", "1", "Failed", 0, true, false},
		"a pod that has started":      {snapshot, "Pod", "bert-node-0-0-abcde", "2", "Failed", 0, true, true},
		"a pod that is ready":         {snapshot, "Pod", "bert-node-0-0-abcde", "2", "Unhealthy", 0, true, true},
		"a failed TrainJob, placed":   {hasFailed, "Pod", "bert-node-0-0-abcde", "1", "FailedScheduling", 0, true, true},
		"a failed TrainJob, pull":     {hasFailed, "Pod", "bert-node-0-0-abcde", "1", "Failed", 0, true, false},
		"a Workload":                  {isSuspended, "Workload", "trainjob-bert-1a2b3", "x", "Pending", 0, true, false},
		"a Workload after admission":  {snapshot, "Workload", "trainjob-bert-1a2b3", "x", "Pending", 0, true, true},
		"a Workload of another":       {isSuspended, "Workload", "trainjob-bert-2-1a2b3", "x", "Pending", 0, false, false},
		"an earlier TrainJob":         {snapshot, "TrainJob", "bert", "x", "TrainingRuntimeNotSupported", -time.Minute, false, false},
		"another kind":                {snapshot, "PersistentVolumeClaim", "bert", "x", "ProvisioningFailed", 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := corev1.Event{
				Reason: tc.reason, LastTimestamp: metav1.NewTime(created.Add(tc.age)),
				InvolvedObject: corev1.ObjectReference{Kind: tc.kind, Name: tc.object, UID: tc.uid},
			}
			if got := tc.snapshot.concerns(e); got != tc.concerns {
				t.Errorf("concerns() = %t", got)
			}
			if got := tc.snapshot.isOver(e, tc.snapshot.findProgress(nil)); got != tc.isOver {
				t.Errorf("isOver() = %t", got)
			}
		})
	}
}

// TestLatestEventOfASubjectCounts: if several events have the same object and reason, the function "failures" must
// return only the latest event.
func TestLatestEventOfASubjectCounts(t *testing.T) {
	event := func(minute int, object, message string) corev1.Event {
		return corev1.Event{
			Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: message, LastTimestamp: metav1.NewTime(created.Add(time.Duration(minute) * time.Minute)),
			InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: object},
		}
	}
	events := []corev1.Event{event(1, "bert-node-0", "exceeded quota"), event(2, "bert-launcher-0", "forbidden"), event(3, "bert-node-0", "violates PodSecurity")}
	var got []string
	for _, e := range newSnapshot(nil).failures(events) {
		got = append(got, e.Message)
	}
	if diff := cmp.Diff([]string{"forbidden", "violates PodSecurity"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOwnEventsAreLeftOut: the diagnosis must ignore the events of trainyard-controller. The warnings among
// these events repeat an earlier diagnosis, which can be outdated.
func TestOwnEventsAreLeftOut(t *testing.T) {
	own := corev1.Event{
		Type: corev1.EventTypeWarning, Reason: "TrainingFailed", ReportingController: EventReporter, LastTimestamp: metav1.NewTime(created.Add(time.Minute)),
		InvolvedObject: corev1.ObjectReference{Kind: trainer.TrainJobKind, Name: "bert"},
	}
	other := own
	other.ReportingController = "trainer"
	got := newSnapshot(nil).failures([]corev1.Event{own, other})
	if diff := cmp.Diff([]corev1.Event{other}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
