package sizing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSizeInQueue(t *testing.T) {
	job := Job{DefaultNodes: 2, MaxNodes: 8, LauncherIsNode: true, Launcher: node, Node: node}
	smallLauncher := Job{DefaultNodes: 2, MaxNodes: 8, Launcher: Amounts{"pods": 1, "cpu": 500, "memory": 1 << 30}, Node: node}
	selecting := job
	selecting.NodeSelector = map[string]string{"gpu": "h100", "pool": "training"}
	sameFlavor := smallLauncher
	sameFlavor.SameFlavor = true
	withInitializer := job
	withInitializer.Initializers = []Pod{{"dataset initializer", Amounts{"pods": 1, "cpu": 2000, "memory": 1 << 30}}}
	amounts := func(cpus, gpus int64) Amounts {
		return Amounts{"cpu": cpus * 1000, "memory": 1 << 40, "nvidia.com/gpu": gpus}
	}
	small := Flavor{Name: "a100", NodeLabels: map[string]string{"gpu": "a100"}, Available: amounts(4, 2)}
	large := Flavor{Name: "h100", NodeLabels: map[string]string{"gpu": "h100"}, Available: amounts(100, 6)}
	for name, tc := range map[string]struct {
		job   Job
		queue Queue
		want  Size
	}{
		"a flavor that holds the largest TrainJob is no limit": {job, Queue{{{Available: amounts(100, 8)}}}, Size{Nodes: 8}},
		"the scarcest resource of a flavor is the limit": {job, Queue{{{Available: amounts(100, 6)}}},
			Size{6, Shortage{Resource: "nvidia.com/gpu", Requested: 7, Available: 6}}},
		"a resource without a group is never admitted": {job, Queue{{{Available: Amounts{"cpu": 1e6, "memory": 1 << 40}}}},
			Size{0, Shortage{Resource: "nvidia.com/gpu", Requested: 1, Missing: true}}},
		"nodes can take another flavor than the launcher": {job, Queue{{small, large}},
			Size{7, Shortage{Resource: "nvidia.com/gpu", Pod: "node", Flavor: "h100", Requested: 7, Available: 6}}},
		"a launcher that needs the flavor of its nodes gets it": {sameFlavor, Queue{{small, large}},
			Size{6, Shortage{Resource: "nvidia.com/gpu", Flavor: "h100", Requested: 7, Available: 6}}},
		"a launcher in the flavor of its nodes counts there": {sameFlavor, Queue{{small, {Name: "h100", Available: amounts(6, 6)}}},
			Size{2, Shortage{Resource: "cpu", Flavor: "h100", Requested: 6500, Available: 6000}}},
		"nodes with a node selector take only a matching flavor": {selecting, Queue{{small, large}},
			Size{6, Shortage{Resource: "nvidia.com/gpu", Flavor: "h100", Requested: 7, Available: 6}}},
		"a node selector that no flavor matches is never admitted": {selecting, Queue{{small}}, Size{0, Shortage{Pod: "launcher", Missing: true}}},
		"a label that no flavor has is ignored": {selecting, Queue{{{Available: amounts(100, 4)}}},
			Size{4, Shortage{Resource: "nvidia.com/gpu", Requested: 5, Available: 4}}},
		"the scarcer of two groups is the limit": {smallLauncher, Queue{{{Available: Amounts{"cpu": 4500, "memory": 1 << 40}}}, {{Available: Amounts{"nvidia.com/gpu": 8}}}},
			Size{2, Shortage{Resource: "cpu", Requested: 6500, Available: 4500}}},
		"pods count if the queue has a quota for pods": {job, Queue{{{Available: Amounts{"cpu": 1e6, "memory": 1 << 40, "nvidia.com/gpu": 100, "pods": 3}}}},
			Size{3, Shortage{Resource: "pods", Requested: 4, Available: 3}}},
		"initializers count in addition": {withInitializer, Queue{{{Available: amounts(8, 8)}}},
			Size{3, Shortage{Resource: "cpu", Requested: 8000, Available: 6000}}},
		"a flavor for one pod admits no TrainJob": {job, Queue{{{Available: amounts(100, 1)}}}, Size{0, Shortage{Resource: "nvidia.com/gpu", Requested: 2, Available: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.job.SizeInQueue(tc.queue)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if again := tc.job.SizeInQueue(tc.queue); again != tc.want {
				t.Errorf("SizeInQueue() has changed the queue: a second call returns %v", again)
			}
		})
	}
}
