package jobs

import (
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newSnapshot(change func(*trainer.TrainJob), pods ...Pod) Snapshot {
	v := Snapshot{Pods: pods}
	v.Job.Namespace, v.Job.Name, v.Job.CreationTimestamp = "team", "bert", metav1.NewTime(created)
	if change != nil {
		change(&v.Job)
	}
	return v
}

// newPod returns a pod on a host. If the host is empty, the pod is not scheduled.
func newPod(role Role, host string, main corev1.ContainerState) Pod {
	p := Pod{Role: role}
	p.Name, p.Spec.NodeName = "bert-"+string(role)+"-0-0-abcde", host
	p.Spec.Containers = []corev1.Container{{Name: MainContainer, Image: "quay.io/acme/a:1"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: MainContainer, State: main}}
	return p
}

func secondNode(host string, main corev1.ContainerState) Pod {
	p := newPod(Node, host, main)
	p.Index = 1
	return p
}

var (
	waiting = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	failed  = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
)

func setCondition(kind string) func(*trainer.TrainJob) {
	return func(j *trainer.TrainJob) {
		j.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue}}
	}
}

func suspend(j *trainer.TrainJob) { j.Spec.Suspend = new(true) }

func setRoles(names ...string) func(*trainer.TrainJob) {
	return func(j *trainer.TrainJob) {
		for _, name := range names {
			j.Status.JobsStatus = append(j.Status.JobsStatus, trainer.JobStatus{Name: name})
		}
	}
}

func TestPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshot Snapshot
		want     Phase
	}{
		"new":                                 {newSnapshot(nil), Pending},
		"suspended":                           {newSnapshot(suspend), Suspended},
		"suspended after its pods started":    {newSnapshot(suspend, newPod(Launcher, "a", running)), Suspended},
		"a node without a place":              {newSnapshot(nil, newPod(Launcher, "a", waiting), newPod(Node, "", waiting)), GangScheduling},
		"images are pulled":                   {newSnapshot(nil, newPod(Launcher, "a", waiting), newPod(Node, "b", waiting)), Initializing},
		"nodes run sshd":                      {newSnapshot(nil, newPod(Launcher, "a", waiting), newPod(Node, "b", running)), Initializing},
		"nodes run sshd, and no launcher yet": {newSnapshot(setRoles("launcher", "node"), newPod(Node, "b", running)), Initializing},
		"mpirun runs":                         {newSnapshot(nil, newPod(Launcher, "a", running), newPod(Node, "b", running)), Running},
		"mpirun has ended":                    {newSnapshot(nil, newPod(Launcher, "a", failed), newPod(Node, "b", running)), Running},
		"mpirun runs, and a node is replaced": {newSnapshot(nil, newPod(Launcher, "a", running), newPod(Node, "", waiting)), Running},
		"no MPI":                              {newSnapshot(setRoles("node"), newPod(Node, "b", running)), Running},
		"no MPI, a node waits":                {newSnapshot(setRoles("node"), newPod(Node, "b", running), secondNode("", waiting)), GangScheduling},
		"no MPI, a node is missing":           {newSnapshot(func(j *trainer.TrainJob) { j.Spec.Trainer = &trainer.Trainer{NumNodes: new(int32(2))} }, newPod(Node, "b", running)), Initializing},
		"an initializer runs":                 {newSnapshot(nil, newPod("dataset-initializer", "a", running)), Initializing},
		"complete":                            {newSnapshot(setCondition(trainer.TrainJobComplete), newPod(Launcher, "a", running)), Succeeded},
		"failed":                              {newSnapshot(setCondition(trainer.TrainJobFailed)), Failed},
		"failed, and suspended before its deletion": {newSnapshot(func(j *trainer.TrainJob) { suspend(j); setCondition(trainer.TrainJobFailed)(j) }), Failed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.snapshot.Phase(); got != tc.want {
				t.Errorf("phase %s, want %s", got, tc.want)
			}
		})
	}
}

// TestStates checks that Diagnose recognizes problems that no message of Kubernetes describes, such as missing pods.
func TestStates(t *testing.T) {
	inQueue := func(j *trainer.TrainJob) {
		suspend(j)
		j.Labels = map[string]string{queueLabel: "gpus"}
	}
	preflight := newPod(Launcher, "a", waiting)
	preflight.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: PreflightContainer, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: `{"hosts":2,"reached":1,"failed":[{"host":"bert-node-0-0","cause":"timeout","detail":"no answer"}]}`},
	}}}
	sidecar := newPod(Launcher, "a", failed)
	sidecar.Status.ContainerStatuses = append(sidecar.Status.ContainerStatuses, corev1.ContainerStatus{Name: "istio-proxy", State: running})
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}}
	killedSidecar := newPod(Launcher, "a", failed)
	killedSidecar.Status.ContainerStatuses = append(killedSidecar.Status.ContainerStatuses, corev1.ContainerStatus{Name: "istio-proxy", State: killed})
	other := newPod(Node, "b", running)
	other.Spec.Containers[0].Image = "quay.io/acme/b:1"
	for name, tc := range map[string]struct {
		snapshot Snapshot
		age      time.Duration
		want     string
	}{
		"suspended":              {newSnapshot(suspend), time.Second, "Suspended"},
		"waits in a queue":       {newSnapshot(inQueue), time.Second, "QueueWaiting"},
		"new":                    {newSnapshot(nil), time.Second, ""},
		"without status":         {newSnapshot(nil), time.Minute, "TrainerSilent"},
		"without pods":           {newSnapshot(setCondition("Created")), time.Minute, "PodsMissing"},
		"running":                {newSnapshot(nil, newPod(Launcher, "a", running), newPod(Node, "b", running)), time.Hour, ""},
		"different images":       {newSnapshot(nil, newPod(Launcher, "a", running), other), time.Hour, "ImagesDiffer"},
		"a node is unreachable":  {newSnapshot(nil, preflight, newPod(Node, "b", running)), time.Minute, "SSHBlocked"},
		"a sidecar does not end": {newSnapshot(nil, sidecar), time.Hour, "SidecarRunning"},
		"a killed launcher":      {newSnapshot(nil, newPod(Launcher, "a", killed)), time.Hour, "ProcessKilled"},
		"a killed node":          {newSnapshot(nil, newPod(Launcher, "a", failed), newPod(Node, "b", killed)), time.Hour, ""},
		"a killed sidecar":       {newSnapshot(nil, killedSidecar), time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := diagnosis.Diagnose(tc.snapshot.stateTexts(created.Add(tc.age))); len(found) > 0 {
				got = found[0].Code
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
