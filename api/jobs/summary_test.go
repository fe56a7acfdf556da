package jobs

import (
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestCompletedInitializer: the pod of a completed initializer must count neither as scheduled nor as missing, because
// the pod holds no resources. The test checks two cases. In the first case, the pod still exists, because JobSet does
// not delete it. In the second case, the pod was deleted, for example by a drain of its cluster node.
func TestCompletedInitializer(t *testing.T) {
	initializer := newPod("dataset-initializer", "a", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	initializer.Status.Phase = corev1.PodSucceeded
	launcher, node := newPod(Launcher, "", waiting), newPod(Node, "", waiting)
	done := func(j *trainer.TrainJob) {
		j.Status.JobsStatus = []trainer.JobStatus{{Name: "dataset-initializer", Succeeded: ptr.To[int32](1)}}
	}
	wanted := WantedPods{"dataset-initializer": {Pods: 1}, Launcher: {Pods: 1, Later: true}, Node: {Pods: 1, Later: true}}
	for name, pods := range map[string][]Pod{"the pod stays": {initializer, launcher, node}, "the pod was deleted": {launcher, node}} {
		snapshot := newSnapshot(done, pods...)
		snapshot.Wanted = wanted
		if got, want := snapshot.Summary(), "Waiting for cluster nodes: 0 of 2 pods are scheduled"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if scheduled, missing := snapshot.CountScheduled(); scheduled != 0 || missing != 2 {
			t.Errorf("%s: %d pods are scheduled and %d missing, want 0 and 2", name, scheduled, missing)
		}
	}
}

func TestSummary(t *testing.T) {
	unplaced := newPod(Node, "", waiting)
	unplaced.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/6 nodes are available: 6 Insufficient nvidia.com/gpu."}}
	pulling := newPod(Node, "b", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}})
	ready := newPod(Node, "b", running)
	ready.Index, ready.Status.Conditions = 1, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	launcher := newPod(Launcher, "a", waiting)
	jobFailed := func(j *trainer.TrainJob) {
		j.Status.Conditions = []metav1.Condition{{Type: trainer.TrainJobFailed, Status: "True", Reason: "JobsFailed", Message: "jobset failed\nTOKEN=abcdefgh1jk"}}
	}
	inQueue := func(j *trainer.TrainJob) {
		suspend(j)
		j.Labels = map[string]string{queueLabel: "gpus"}
	}
	for name, tc := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"new":                 {newSnapshot(nil), "Waiting for pods to be created"},
		"suspended":           {newSnapshot(suspend), "Suspended, because spec.suspend is true"},
		"in a queue":          {newSnapshot(inQueue), "Waiting in queue gpus"},
		"no room":             {newSnapshot(nil, launcher, ready, unplaced), "Waiting for cluster nodes: 2 of 3 pods are scheduled; 0/6 nodes are available: 6 Insufficient nvidia.com/gpu."},
		"an image is pulled":  {newSnapshot(nil, launcher, pulling, ready), "Starting: 1 of 3 pods are ready; node 0: ImagePullBackOff: Back-off pulling image"},
		"runs":                {newSnapshot(nil, newPod(Launcher, "a", running), ready), "Running on 2 pods"},
		"complete":            {newSnapshot(setCondition(trainer.TrainJobComplete)), "Succeeded"},
		"failed":              {newSnapshot(jobFailed), "Failed: JobsFailed: jobset failed TOKEN=[secret]"},
		"failed, no messages": {newSnapshot(setCondition(trainer.TrainJobFailed)), "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.snapshot.Summary(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
