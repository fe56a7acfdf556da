package jobs

import (
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// at returns the time that is the given number of seconds after the creation of the TrainJob.
func at(second int) metav1.Time {
	return metav1.NewTime(created.Add(time.Duration(second) * time.Second))
}

// eventOf returns an event about an object, such as "Pod bert-node-0-0-aaaaa". The event has the type Normal if its reason is in
// the list normalReasons.
func eventOf(second int, object, reason, message string) corev1.Event {
	kind, name, _ := strings.Cut(object, " ")
	e := corev1.Event{
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: at(second),
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: types.UID(name)},
	}
	switch reason {
	case "Scheduled", "SuccessfulCreate", "Killing", "TaintManagerEviction":
		e.Type = corev1.EventTypeNormal
	case "Started":
		e.Type, e.InvolvedObject.FieldPath = corev1.EventTypeNormal, "spec.containers{"+MainContainer+"}"
	}
	return e
}

// podAt returns a pod that was created at the given second.
func podAt(second int, role Role, name string, main corev1.ContainerState) Pod {
	p := newPod(role, "a", main)
	p.Name, p.UID, p.CreationTimestamp = name, types.UID(name), at(second)
	return p
}

func runningSince(second int) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(second)}}
}

func endedAt(second int, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: reason, StartedAt: at(1), FinishedAt: at(second)}}
}

func (p Pod) withReady(second int) Pod {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(second)}}
	return p
}

func (p Pod) withRestarts(count string) Pod {
	p.Labels = map[string]string{restartLabel: count}
	return p
}

func (p Pod) unscheduled() Pod {
	p.Spec.NodeName = ""
	return p
}

// resumedSince changes a TrainJob so that it was suspended from its creation until the given second.
func resumedSince(second int) func(*trainer.TrainJob) {
	return func(j *trainer.TrainJob) {
		j.Status.Conditions = append(j.Status.Conditions, metav1.Condition{Type: trainer.TrainJobSuspended, Status: metav1.ConditionFalse, LastTransitionTime: at(second)})
	}
}

// failedSince changes a TrainJob so that it failed after it had been resumed at second 10.
func failedSince(second int) func(*trainer.TrainJob) {
	return func(j *trainer.TrainJob) {
		resumedSince(10)(j)
		j.Status.Conditions = append(j.Status.Conditions, metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, LastTransitionTime: at(second)})
	}
}

// TestSolvedProblems follows TrainJobs through their lives: they wait in a queue, start, lose pods, restart, fail, and stay after
// their end. Each case lists the events so far, and the reasons of the events whose problems are not solved.
func TestSolvedProblems(t *testing.T) {
	const (
		launcher, node = "bert-launcher-0-0-aaaaa", "bert-node-0-0-aaaaa"
		newLauncher    = "bert-launcher-0-0-bbbbb"
		newNode        = "bert-node-0-0-bbbbb"
		workload       = "Workload trainjob-bert-1a2b3"
	)
	pulls := podAt(11, Node, node, waiting)
	runs := podAt(11, Launcher, launcher, runningSince(20))
	crashed := podAt(11, Launcher, launcher, endedAt(500, "Error"))
	for name, tc := range map[string]struct {
		snapshot Snapshot
		events   []corev1.Event
		want     string
	}{
		"waits in a queue": {
			newSnapshot(suspend), []corev1.Event{eventOf(1, workload, "Pending", "insufficient unused quota")}, "Pending",
		},
		"admitted, pulls an image": {
			newSnapshot(resumedSince(10), pulls),
			[]corev1.Event{eventOf(1, workload, "Pending", ""), eventOf(2, "TrainJob bert", "Stopped", ""), eventOf(12, "Pod "+node, "Failed", "")}, "Failed",
		},
		"admitted, failed in preflight": {
			newSnapshot(failedSince(60), podAt(11, Launcher, launcher, waiting)),
			[]corev1.Event{eventOf(1, workload, "Pending", ""), eventOf(11, "Job bert-node-0", "FailedCreate", "")}, "FailedCreate",
		},
		"preempted":  {newSnapshot(suspend), []corev1.Event{eventOf(100, workload, "Preempted", "")}, "Preempted"},
		"readmitted": {newSnapshot(resumedSince(200), podAt(201, Node, node, waiting)), []corev1.Event{eventOf(100, workload, "Preempted", "")}, ""},
		"the JobSet was created after a refusal": {
			newSnapshot(nil, pulls), []corev1.Event{eventOf(1, "TrainJob bert", "TrainJobResourcesCreationFailed", "")}, "",
		},
		"a pod was created after a refusal": {
			newSnapshot(nil), []corev1.Event{eventOf(1, "Job bert-node-0", "FailedCreate", ""), eventOf(2, "Job bert-node-0", "SuccessfulCreate", "")}, "",
		},
		"a pod was created before a refusal": {
			newSnapshot(nil), []corev1.Event{eventOf(1, "Job bert-node-0", "SuccessfulCreate", ""), eventOf(1, "Job bert-node-0", "FailedCreate", "")}, "FailedCreate",
		},
		"all pods exist after a refusal": {
			withWanted(newSnapshot(nil, pulls), 1), []corev1.Event{eventOf(1, "Job bert-node-0", "FailedCreate", "")}, "",
		},
		"a pod is missing after a refusal": {
			withWanted(newSnapshot(nil, pulls), 2), []corev1.Event{eventOf(1, "Job bert-node-0", "FailedCreate", "")}, "FailedCreate",
		},
		"scheduled as a group": {
			newSnapshot(nil, pulls), []corev1.Event{eventOf(1, "PodGroup bert", "Unschedulable", "")}, "",
		},
		"not scheduled as a group": {
			newSnapshot(nil, pulls.unscheduled()), []corev1.Event{eventOf(1, "PodGroup bert", "Unschedulable", "")}, "Unschedulable",
		},
		"the launcher was deleted after the end": {
			newSnapshot(failedSince(500)), []corev1.Event{eventOf(12, "Pod "+node, "Failed", ""), eventOf(20, "Pod "+launcher, "Started", "")}, "",
		},
		"a pod was replaced": {
			newSnapshot(nil, podAt(50, Node, newNode, waiting)), []corev1.Event{eventOf(40, "Pod "+node, "Evicted", "")}, "",
		},
		"a pod was replaced, and the TrainJob failed": {
			newSnapshot(setCondition(trainer.TrainJobFailed), podAt(50, Node, newNode, waiting)), []corev1.Event{eventOf(40, "Pod "+node, "Evicted", "")}, "Evicted",
		},
		"JobSet restarted all pods": {
			newSnapshot(nil, podAt(50, Launcher, newLauncher, waiting).withRestarts("1"), podAt(51, Node, newNode, waiting).withRestarts("1")),
			[]corev1.Event{eventOf(40, "Pod "+node, "TaintManagerEviction", "Marking for deletion Pod a/b"), eventOf(55, "Pod "+newNode, "Failed", "")}, "Failed",
		},
		"the first attempt": {
			newSnapshot(nil, podAt(50, Launcher, newLauncher, waiting).withRestarts("0")), []corev1.Event{eventOf(40, "Pod "+node, "Evicted", "")}, "Evicted",
		},
		"scheduled later, in the same second": {newSnapshot(nil), []corev1.Event{eventOf(1, "Pod "+node, "FailedScheduling", ""), eventOf(1, "Pod "+node, "Scheduled", "")}, ""},
		"another pod was scheduled":           {newSnapshot(nil), []corev1.Event{eventOf(1, "Pod "+node, "FailedScheduling", ""), eventOf(2, "Pod "+newNode, "Scheduled", "")}, "FailedScheduling"},
		"started later":                       {newSnapshot(nil), []corev1.Event{eventOf(1, "Pod "+node, "FailedCreatePodSandBox", ""), eventOf(2, "Pod "+node, "Started", "")}, ""},
		"only scheduled later":                {newSnapshot(nil), []corev1.Event{eventOf(1, "Pod "+node, "FailedMount", ""), eventOf(2, "Pod "+node, "Scheduled", "")}, "FailedMount"},
		"started before":                      {newSnapshot(nil), []corev1.Event{eventOf(1, "Pod "+node, "Started", ""), eventOf(2, "Pod "+node, "Failed", "")}, "Failed"},
		"failed many times":                   {newSnapshot(nil), []corev1.Event{eventOf(1, "Pod "+node, "BackOff", ""), eventOf(2, "Pod "+node, "Started", "")}, "BackOff"},
		"an existing pod that has not started": {
			newSnapshot(nil, pulls), []corev1.Event{eventOf(12, "Pod "+node, "Failed", ""), eventOf(13, "Pod "+node, "Started", "")}, "Failed",
		},
		"a volume that is mounted again": {newSnapshot(nil), []corev1.Event{eventOf(1, "Pod "+node, "Started", ""), eventOf(2, "Pod "+node, "FailedMount", "")}, ""},
		"a volume of a deleted pod":      {newSnapshot(nil), []corev1.Event{eventOf(2, "Pod "+node, "FailedMount", `object "a"/"hosts" not registered`)}, ""},
		"a lost node":                    {newSnapshot(nil, runs), []corev1.Event{eventOf(100, "Pod "+launcher, "NodeNotReady", "")}, "NodeNotReady"},
		"a node that recovered":          {newSnapshot(nil, runs.withReady(150)), []corev1.Event{eventOf(100, "Pod "+launcher, "NodeNotReady", "")}, ""},
		"a node that recovered before the program failed": {
			newSnapshot(failedSince(500), crashed), []corev1.Event{eventOf(100, "Pod "+launcher, "NodeNotReady", "")}, "",
		},
		"a node that recovered too late": {
			newSnapshot(failedSince(500), podAt(11, Launcher, launcher, endedAt(90, "Error")), podAt(11, Node, node, runningSince(1)).withReady(150)),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", "")}, "NodeNotReady",
		},
		"a deleted pod of a node that recovered": {
			newSnapshot(failedSince(500), crashed),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(150, "Pod "+node, "TaintManagerEviction", "Cancelling deletion of Pod a/b")}, "",
		},
		"a deletion that ended the eviction of the pod": {
			newSnapshot(failedSince(500), podAt(11, Launcher, launcher, endedAt(90, "Error"))),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(150, "Pod "+node, "TaintManagerEviction", "Cancelling deletion of Pod a/b")},
			"NodeNotReady",
		},
		"a node that was started again": {
			newSnapshot(failedSince(500), podAt(11, Launcher, launcher, endedAt(150, "Unknown"))), []corev1.Event{eventOf(100, "Pod "+launcher, "NodeNotReady", "")}, "NodeNotReady",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range tc.snapshot.failures(tc.events) {
				got = append(got, e.Reason)
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("the unsolved problems are %q, want %q", got, tc.want)
			}
		})
	}
}

func withWanted(s Snapshot, nodes int) Snapshot {
	s.Wanted = WantedPods{Node: {Pods: nodes}}
	return s
}

// TestLostLauncher: the deletion of the launcher's pod counts as the cause of a failure only if the kubelet had to stop
// its containers.
func TestLostLauncher(t *testing.T) {
	failed := newSnapshot(func(j *trainer.TrainJob) {
		setCondition(trainer.TrainJobFailed)(j)
		j.Status.JobsStatus = []trainer.JobStatus{{Name: string(Launcher), Failed: ptr.To[int32](1)}}
	})
	stopped := []corev1.Event{eventOf(20, "Pod bert-launcher-0-0-aaaaa", "Killing", "Stopping container node")}
	if !failed.lostLauncher(stopped) {
		t.Error("the launcher's pod was deleted while it ran, and lostLauncher() = false")
	}
	if failed.lostLauncher(nil) {
		t.Error("the launcher's pod was deleted after the failure, and lostLauncher() = true")
	}
}

// TestInactiveWorkload: the reason of a suspension must depend on the field spec.active of the Workload.
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
	full := []metav1.Condition{{Type: "QuotaReserved", Status: metav1.ConditionFalse, Message: "insufficient unused quota"}}
	for name, tc := range map[string]struct {
		change   func(*trainer.TrainJob)
		inactive bool
		want     string
	}{
		"waits":                       {inQueue, false, "queue gpus has not admitted the TrainJob; Pending: insufficient unused quota"},
		"deactivated":                 {inQueue, true, "spec.active of Workload w is false"},
		"deactivated after a timeout": {timedOut, true, timeout},
		"activated after a timeout":   {timedOut, false, "queue gpus has not admitted the TrainJob; Pending: insufficient unused quota"},
	} {
		snapshot := newSnapshot(tc.change)
		snapshot.Workload = &Workload{Name: "w", Inactive: tc.inactive, Conditions: full}
		snapshot.Workload.Conditions[0].Reason = "Pending"
		var got []string
		for _, text := range snapshot.statusTexts(created.Add(time.Minute)) {
			got = append(got, text.Message)
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
