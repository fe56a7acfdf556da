package jobs

import (
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestFailuresOfReplacedPods: the failure of an old pod must not be reported after a new pod has replaced the old pod
// and has started. There is one exception: if the new pod started after the TrainJob began to fail, the old pod can be
// the cause, and its failure must be reported. A TrainJob can be suspended and later resumed. Failures of pods whose
// deletion began before the resumption must never be reported.
func TestFailuresOfReplacedPods(t *testing.T) {
	const name = "bert-node-0-0-bbbbb"
	old := podAt(11, Node, "bert-node-0-0-aaaaa", endedAt(500, "OOMKilled"))
	second := podAt(11, Node, "bert-node-0-1-aaaaa", endedAt(502, "Error"))
	second.Index = 1
	for what, tc := range map[string]struct {
		snapshot Snapshot
		want     int // the number of texts about the old pod
	}{
		"the new pod waits":                        {newSnapshot(nil, old, podAt(505, Node, name, waiting)), 1},
		"the new pod has started":                  {newSnapshot(nil, old, podAt(505, Node, name, runningSince(506))), 0},
		"the new pod started before the failure":   {newSnapshot(failedSince(900), old, podAt(505, Node, name, endedAt(900, "Error"))), 0},
		"the new pod started after another failed": {newSnapshot(failedSince(520), old, podAt(505, Node, name, runningSince(505)), second), 1},
		"the TrainJob was resumed":                 {newSnapshot(resumedSince(600), old.ending(590), podAt(610, Node, name, waiting)), 0},
	} {
		found := 0
		for _, text := range tc.snapshot.statusTexts(created) {
			if text.Pod == old.Name {
				found++
			}
		}
		isRead := slices.ContainsFunc(tc.snapshot.candidates(), func(c candidate) bool { return c.pod.Name == old.Name })
		if found != tc.want || isRead != (tc.want > 0) {
			t.Errorf("%s: %d texts of the old pod, log read: %t, want %d texts", what, found, isRead, tc.want)
		}
	}
}

// TestPodsOfEarlierRuns: when a TrainJob is resumed, pods of its earlier run can still be ending. These pods must not
// count as pods of the new run. If pods of the new run do not exist yet, the summary must say that old pods have not
// ended.
func TestPodsOfEarlierRuns(t *testing.T) {
	old := podAt(11, Launcher, "bert-launcher-0-0-aaaaa", runningSince(20)).ending(100)
	oldNode := podAt(11, Node, "bert-node-0-0-aaaaa", runningSince(20)).ending(100)
	blocked := podAt(11, Launcher, "bert-launcher-0-0-aaaaa", endedAt(90, "Error")).ending(100)
	blocked.Status.ContainerStatuses = append(blocked.Status.ContainerStatuses, corev1.ContainerStatus{Name: "istio-proxy", State: running})
	next := podAt(210, Launcher, "bert-launcher-0-0-bbbbb", waiting)
	drained := podAt(199, Launcher, "bert-launcher-0-0-aaaaa", runningSince(201)).ending(4000)
	drained.DeletionGracePeriodSeconds = ptr.To[int64](3600)
	data := podAt(5, "dataset-initializer", "bert-dataset-initializer-0-0-aaaaa", endedAt(8, "Completed")).withPhase(corev1.PodSucceeded)
	ofNodes := WantedPods{Node: {Pods: 2}}
	later := func(s Snapshot, second int) Snapshot {
		s.Now = at(second).Time
		return s
	}
	withData := WantedPods{"dataset-initializer": {Pods: 1}, Node: {Pods: 1, Later: true}, Launcher: {Pods: 1, Later: true}}
	for name, tc := range map[string]struct {
		snapshot Snapshot
		wanted   WantedPods
		phase    Phase
		summary  string
	}{
		"resumed, and the old pods save their work": {newSnapshot(resumedSince(200), old), nil, Pending, "Waiting until old pods have ended: 1 pod"},
		"resumed, not noticed by Trainer":           {newSnapshot(setCondition(trainer.TrainJobSuspended), old), nil, Pending, "Waiting until old pods have ended: 1 pod"},
		"resumed, with a new pod":                   {newSnapshot(resumedSince(200), blocked, next), nil, Initializing, "Starting: 0 of 1 pod are ready"},
		"resumed, with a completed initializer": {
			newSnapshot(resumedSince(200), old, oldNode, data), withData, GangScheduling,
			"Waiting for cluster nodes: 0 of 2 pods are scheduled, 2 missing; Waiting until old pods have ended: 2 pods",
		},
		"created just before Trainer recorded the resumption": {newSnapshot(resumedSince(200), drained), nil, Running, "Running on 1 pod"},
		"running while the pods end":                          {newSnapshot(nil, old), nil, Running, "Running on 1 pod"},
		"JobSet waits for a dead node": {
			newSnapshot(setRoles("launcher", "node"), oldNode), ofNodes, GangScheduling,
			"Waiting for cluster nodes: 0 of 2 pods are scheduled, 2 missing; Waiting until old pods have ended: 1 pod",
		},
		"the launcher saves its work":       {later(newSnapshot(nil, old), 150), nil, Running, "Running on 1 pod"},
		"the launcher is on a dead node":    {later(newSnapshot(nil, old), 161), WantedPods{Launcher: {Pods: 1}}, GangScheduling, "Waiting for cluster nodes: 0 of 1 pod are scheduled, 1 missing; Waiting until old pods have ended: 1 pod"},
		"no launcher, and a pod is missing": {newSnapshot(nil, podAt(11, Node, "bert-node-0-0-aaaaa", runningSince(20))), ofNodes, GangScheduling, "Waiting for cluster nodes: 1 of 2 pods are scheduled, 1 missing"},
		"preflight failed, so JobSet deletes the nodes": {
			newSnapshot(setRoles("launcher", "node"), podAt(11, Launcher, "bert-launcher-0-0-aaaaa", waiting).withPhase(corev1.PodFailed), oldNode),
			WantedPods{Node: {Pods: 2}, Launcher: {Pods: 1}}, Initializing, "Starting: 0 of 2 pods are ready",
		},
		"JobSet restarts the TrainJob after a failure": {
			newSnapshot(setRoles("launcher", "node"), podAt(11, Launcher, "bert-launcher-0-0-aaaaa", waiting).withPhase(corev1.PodFailed).ending(100), oldNode),
			WantedPods{Node: {Pods: 2}, Launcher: {Pods: 1}}, GangScheduling,
			"Waiting for cluster nodes: 0 of 3 pods are scheduled, 3 missing; Waiting until old pods have ended: 2 pods",
		},
		"an unknown number of pods": {
			newSnapshot(setRoles("launcher", "node"), oldNode, secondNode("", waiting)), nil, GangScheduling, "Waiting for cluster nodes: 0 of 2 pods are scheduled",
		},
	} {
		tc.snapshot.Wanted = tc.wanted
		if phase, summary := tc.snapshot.Phase(), tc.snapshot.Summary(); phase != tc.phase || summary != tc.summary {
			t.Errorf("%s: %s, %q, want %s, %q", name, phase, summary, tc.phase, tc.summary)
		}
		if since := tc.snapshot.BlockedSince(); !since.IsZero() {
			t.Errorf("%s: a container blocks the end since %s, want none", name, since)
		}
	}
}

// TestInactiveWorkload: the diagnosis must give different reasons for a suspension, depending on whether the Workload
// is inactive (spec.active is false).
func TestInactiveWorkload(t *testing.T) {
	const timeout = "Suspended, because its pods were not scheduled within 10m0s."
	timedOut := func(j *trainer.TrainJob) {
		suspend(j)
		j.Labels = map[string]string{queueLabel: "gpus"}
		j.Annotations = map[string]string{"trainyard.dev/timed-out": timeout}
	}
	inQueue := func(j *trainer.TrainJob) {
		suspend(j)
		j.Labels = map[string]string{queueLabel: "gpus"}
	}
	full := []metav1.Condition{{Type: "QuotaReserved", Status: metav1.ConditionFalse, Reason: "Pending", Message: "insufficient unused quota"}}
	evictedFor := func(reason string) metav1.Condition {
		return metav1.Condition{Type: "Evicted", Status: metav1.ConditionTrue, Reason: reason, Message: "evicted"}
	}
	for name, tc := range map[string]struct {
		change   func(*trainer.TrainJob)
		inactive bool
		want     string
	}{
		"waits":                       {inQueue, false, "queue gpus has not admitted the TrainJob; Pending: insufficient unused quota; Preempted: evicted"},
		"deactivated":                 {inQueue, true, "spec.active of Workload w is false; Deactivated: evicted"},
		"deactivated after a timeout": {timedOut, true, timeout + "; Deactivated: evicted"},
		"activated after a timeout":   {timedOut, false, "queue gpus has not admitted the TrainJob; Pending: insufficient unused quota; Preempted: evicted"},
	} {
		snapshot := newSnapshot(tc.change)
		snapshot.Workload = &Workload{Name: "w", Inactive: tc.inactive, Conditions: append(full, evictedFor("Preempted"), evictedFor("Deactivated"))}
		var got []string
		for _, text := range snapshot.statusTexts(created.Add(time.Minute)) {
			got = append(got, text.Message)
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
