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

// at(second) returns the creation time of the TrainJob plus the given number of seconds.
func at(second int) metav1.Time {
	return metav1.NewTime(created.Add(time.Duration(second) * time.Second))
}

// eventOf returns an event about an object, such as "Pod bert-node-0-0-aaaaa". Events with the reasons Started and Killing are about
// the main container.
func eventOf(second int, object, reason, message string) corev1.Event {
	kind, name, _ := strings.Cut(object, " ")
	e := corev1.Event{
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: at(second),
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name},
	}
	if kind == "Pod" && reason != evicted {
		e.InvolvedObject.UID = types.UID(name)
	}
	switch reason {
	case "Scheduled", "SuccessfulCreate", "SuccessfulDelete", evicted:
		e.Type = corev1.EventTypeNormal
	case "Started", "Killing":
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

// resumedSince returns a function that adds a condition to a TrainJob. The condition says that the TrainJob was resumed
// at the time at(second).
func resumedSince(second int) func(*trainer.TrainJob) {
	return func(j *trainer.TrainJob) {
		j.Status.Conditions = append(j.Status.Conditions, metav1.Condition{Type: trainer.TrainJobSuspended, Status: metav1.ConditionFalse, LastTransitionTime: at(second)})
	}
}

// failedSince returns a function that adds two conditions to a TrainJob. The conditions say that the TrainJob was
// resumed at the time at(10), and failed at the time at(second).
func failedSince(second int) func(*trainer.TrainJob) { return failedRun(10, second) }

func failedRun(resumed, second int) func(*trainer.TrainJob) {
	return func(j *trainer.TrainJob) {
		resumedSince(resumed)(j)
		j.Status.Conditions = append(j.Status.Conditions, metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, LastTransitionTime: at(second)})
	}
}

// TestSolvedProblems tests TrainJobs in different states: waiting in a queue, starting, after the loss of a pod, after
// a restart, and after the end. Each case contains the events so far, and the expected result. The expected result
// contains the field "reason" of each event whose problem is not solved.
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
			[]corev1.Event{eventOf(40, "Pod "+node, evicted, "Marking for deletion Pod a/b"), eventOf(55, "Pod "+newNode, "Failed", "")}, "Failed",
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
		"a node that recovered long after the failure": {
			newSnapshot(failedSince(200), podAt(11, Launcher, launcher, endedAt(601, "Error"))), []corev1.Event{eventOf(100, "Pod "+launcher, "NodeNotReady", "")}, "NodeNotReady",
		},
		"a node that recovered long before the failure": {
			newSnapshot(failedSince(1000), podAt(11, Launcher, launcher, endedAt(1000, "Error")), podAt(11, Node, node, endedAt(1002, "Error"))),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", "")}, "",
		},
		"a deleted pod of a node that recovered": {
			newSnapshot(failedSince(500), crashed),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(150, "Pod "+node, evicted, "Cancelling deletion of Pod a/b"), eventOf(501, "Pod "+node, "Killing", "")}, "",
		},
		"a deletion that ended the eviction of the pod": {
			newSnapshot(failedSince(500), podAt(11, Launcher, launcher, endedAt(90, "Error"))),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(150, "Pod "+node, evicted, "Cancelling deletion of Pod a/b")},
			"NodeNotReady",
		},
		"a deleted pod of a lost node": {
			newSnapshot(failedSince(500), crashed),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(150, "Pod "+node, evicted, "Cancelling deletion of Pod a/b")}, "NodeNotReady",
		},
		"an eviction at once": {
			newSnapshot(failedSince(500), crashed),
			[]corev1.Event{
				eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(150, "Pod "+node, evicted, "Cancelling deletion of Pod a/b"),
				eventOf(150, "Pod "+node, evicted, "Marking for deletion Pod a/b"), eventOf(151, "Pod "+node, "Killing", ""),
			}, "NodeNotReady TaintManagerEviction",
		},
		"all pods were deleted after the failure": {
			newSnapshot(failedSince(160)),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(250, "Pod "+node, evicted, "Cancelling deletion of Pod a/b"), eventOf(251, "Pod "+node, "Killing", "")},
			"NodeNotReady",
		},
		"an initializer failed before the node recovered": {
			newSnapshot(failedSince(900), podAt(11, "dataset-initializer", "bert-dataset-initializer-0-0-aaaaa", endedAt(30, "Error")),
				podAt(40, "dataset-initializer", "bert-dataset-initializer-0-0-bbbbb", runningSince(41)), podAt(50, Launcher, launcher, endedAt(900, "OOMKilled"))),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(150, "Pod "+node, evicted, "Cancelling deletion of Pod a/b"), eventOf(901, "Pod "+node, "Killing", "")}, "",
		},
		"a container that ended while its node did not answer": {
			newSnapshot(failedSince(500), podAt(11, Launcher, launcher, endedAt(150, "Error"))), []corev1.Event{eventOf(100, "Pod "+launcher, "NodeNotReady", "")}, "NodeNotReady",
		},
		"a lost node, and a launcher that started again": {
			newSnapshot(resumedSince(10), podAt(120, Launcher, newLauncher, runningSince(125)), podAt(11, Node, node, runningSince(15))),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", "")}, "NodeNotReady",
		},
		"a lost node, and a launcher that JobSet created again": {
			newSnapshot(nil, podAt(152, Launcher, newLauncher, waiting).withRestarts("1"), podAt(11, Node, node, runningSince(15)).withRestarts("0")),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(151, "Pod "+node, evicted, "Marking for deletion Pod a/b")}, "NodeNotReady TaintManagerEviction",
		},
		"a lost node whose pod was replaced": {
			newSnapshot(nil, podAt(401, Node, newNode, waiting)),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", ""), eventOf(400, "Pod "+node, evicted, "Marking for deletion Pod a/b"), eventOf(420, "Pod "+newNode, "Failed", "")}, "Failed",
		},
		"a lost node of an earlier run": {
			newSnapshot(failedRun(200, 499), podAt(5, Node, node, runningSince(6)).ending(150), podAt(210, Launcher, newLauncher, endedAt(499, "Error"))),
			[]corev1.Event{eventOf(100, "Pod "+node, "NodeNotReady", "")}, "",
		},
		"a lost initializer that was replaced": {
			newSnapshot(failedSince(899), podAt(11, "dataset-initializer", "bert-dataset-initializer-0-0-aaaaa", runningSince(12)),
				podAt(400, "dataset-initializer", "bert-dataset-initializer-0-0-bbbbb", runningSince(401)), podAt(460, Launcher, launcher, endedAt(899, "Error"))),
			[]corev1.Event{eventOf(90, "Pod bert-dataset-initializer-0-0-aaaaa", "NodeNotReady", "")}, "",
		},
		"a refusal before deleted pods started": {
			newSnapshot(failedSince(900)), []corev1.Event{eventOf(11, "TrainJob bert", "TrainJobResourcesCreationFailed", ""), eventOf(60, "Pod "+node, "Started", "")}, "",
		},
		"volumes of a deleted pod": {
			newSnapshot(nil), []corev1.Event{eventOf(2, "Pod "+node, "FailedMount", `[object "a"/"kube-root-ca.crt" not registered, object "a"/"openshift-service-ca.crt" not registered]`)}, "",
		},
		"a volume of a deleted pod, and a timeout": {
			newSnapshot(nil), []corev1.Event{eventOf(2, "Pod "+node, "FailedMount", `[object "a"/"hosts" not registered, object "a"/"keys" is missing]`)}, "FailedMount",
		},
		"a refusal after a pod failed": {
			withWanted(newSnapshot(nil, podAt(11, Node, node, failed).withPhase(corev1.PodFailed)), 1), []corev1.Event{eventOf(100, "Job bert-node-0", "FailedCreate", "")}, "FailedCreate",
		},
		"a Workload that was activated again": {
			withWorkload(newSnapshot(suspend), Workload{}), []corev1.Event{eventOf(100, "TrainJob bert", "Stopped", "The workload is deactivated")}, "",
		},
		"an inactive Workload": {
			withWorkload(newSnapshot(suspend), Workload{Inactive: true}),
			[]corev1.Event{eventOf(1, workload, "Pending", ""), eventOf(100, "TrainJob bert", "Stopped", "The workload is deactivated")}, "Stopped",
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

// ending(second) returns a copy of the pod. The deletion timestamp of the copy is the result of at(second). The
// deletion has no grace period.
func (p Pod) ending(second int) Pod {
	p.DeletionTimestamp = ptr.To(at(second))
	return p
}

func (p Pod) withPhase(phase corev1.PodPhase) Pod {
	p.Status.Phase = phase
	return p
}

func withWorkload(s Snapshot, w Workload) Snapshot {
	s.Workload = &w
	return s
}

func withWanted(s Snapshot, nodes int) Snapshot {
	s.Wanted = WantedPods{Node: {Pods: nodes}}
	return s
}

// TestLostLauncher: the deletion of the launcher's pod must count as the cause of a failure only if two conditions are
// met. Condition 1: the kubelet stopped the main container. Condition 2: the launcher's Job did not delete the pod.
func TestLostLauncher(t *testing.T) {
	const launcher = "bert-launcher-0-0-aaaaa"
	failed := newSnapshot(func(j *trainer.TrainJob) {
		failedSince(500)(j)
		j.Status.JobsStatus = []trainer.JobStatus{{Name: string(Launcher), Failed: ptr.To[int32](1)}}
	})
	stop := eventOf(499, "Pod "+launcher, "Killing", "Stopping container node")
	sidecar := stop
	sidecar.InvolvedObject.FieldPath = "spec.initContainers{disruption-check}"
	for name, tc := range map[string]struct {
		events []corev1.Event
		want   bool
	}{
		"deleted while it ran":                    {[]corev1.Event{eventOf(20, "Pod "+launcher, "Started", ""), stop}, true},
		"deleted after its end":                   {[]corev1.Event{eventOf(20, "Pod "+launcher, "Started", "")}, false},
		"deleted by the Job":                      {[]corev1.Event{stop, eventOf(500, "Job bert-launcher-0", "SuccessfulDelete", "Deleted pod: "+launcher)}, false},
		"deleted before a restart":                {[]corev1.Event{stop, eventOf(499, "Pod bert-launcher-0-0-bbbbb", "Started", "")}, false},
		"deleted before the TrainJob was resumed": {[]corev1.Event{eventOf(9, "Pod "+launcher, "Killing", "")}, false},
		"a sidecar was stopped":                   {[]corev1.Event{sidecar}, false},
	} {
		if got := failed.lostLauncher(tc.events); got != tc.want {
			t.Errorf("%s: lostLauncher() = %t", name, got)
		}
	}
}
