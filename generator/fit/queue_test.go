package fit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInQueue(t *testing.T) {
	job := Job{Default: 2, Most: 8, LauncherIsNode: true, Launcher: node, Node: node}
	cheap := Job{Default: 2, Most: 8, Launcher: Amounts{"pods": 1, "cpu": 500, "memory": 1 << 30}, Node: node}
	picky := job
	picky.Selector = map[string]string{"gpu": "h100", "pool": "training"}
	together := cheap
	together.Together = true
	fetching := job
	fetching.Before = []Pod{{"dataset initializer", Amounts{"pods": 1, "cpu": 2000, "memory": 1 << 30}}}
	room := func(cpus, gpus int64) Amounts {
		return Amounts{"cpu": cpus * 1000, "memory": 1 << 40, "nvidia.com/gpu": gpus}
	}
	small := Flavor{Name: "a100", Labels: map[string]string{"gpu": "a100"}, Room: room(4, 2)}
	large := Flavor{Name: "h100", Labels: map[string]string{"gpu": "h100"}, Room: room(100, 6)}
	for name, tc := range map[string]struct {
		job   Job
		queue Queue
		want  Fit
	}{
		"a flavor that the largest fits decides on nothing": {job, Queue{{{Room: room(100, 8)}}}, Fit{Nodes: 8}},
		"the scarcest resource of a flavor decides": {job, Queue{{{Room: room(100, 6)}}},
			Fit{6, Shortage{Resource: "nvidia.com/gpu", Asks: 7, Bound: 6}}},
		"what no group has is never admitted": {job, Queue{{{Room: Amounts{"cpu": 1e6, "memory": 1 << 40}}}},
			Fit{0, Shortage{Resource: "nvidia.com/gpu", Asks: 1, Lacking: true}}},
		"nodes take a flavor that the launcher has not": {job, Queue{{small, large}},
			Fit{7, Shortage{Resource: "nvidia.com/gpu", Who: "node", Flavor: "h100", Asks: 7, Bound: 6}}},
		"a launcher that must be with its nodes goes where they do": {together, Queue{{small, large}},
			Fit{6, Shortage{Resource: "nvidia.com/gpu", Flavor: "h100", Asks: 7, Bound: 6}}},
		"and takes room there": {together, Queue{{small, {Name: "h100", Room: room(6, 6)}}},
			Fit{2, Shortage{Resource: "cpu", Flavor: "h100", Asks: 6500, Bound: 6000}}},
		"nodes that choose their machines take no others": {picky, Queue{{small, large}},
			Fit{6, Shortage{Resource: "nvidia.com/gpu", Flavor: "h100", Asks: 7, Bound: 6}}},
		"machines that no flavor has are never found": {picky, Queue{{small}}, Fit{0, Shortage{Who: "launcher", Lacking: true}}},
		"labels that flavors do not know say nothing": {picky, Queue{{{Room: room(100, 4)}}},
			Fit{4, Shortage{Resource: "nvidia.com/gpu", Asks: 5, Bound: 4}}},
		"the scarcer of two groups decides": {cheap, Queue{{{Room: Amounts{"cpu": 4500, "memory": 1 << 40}}}, {{Room: Amounts{"nvidia.com/gpu": 8}}}},
			Fit{2, Shortage{Resource: "cpu", Asks: 6500, Bound: 4500}}},
		"pods count where a queue counts them": {job, Queue{{{Room: Amounts{"cpu": 1e6, "memory": 1 << 40, "nvidia.com/gpu": 100, "pods": 3}}}},
			Fit{3, Shortage{Resource: "pods", Asks: 4, Bound: 3}}},
		"what runs before counts besides": {fetching, Queue{{{Room: room(8, 8)}}},
			Fit{3, Shortage{Resource: "cpu", Asks: 8000, Bound: 6000}}},
		"one pod is not enough": {job, Queue{{{Room: room(100, 1)}}}, Fit{0, Shortage{Resource: "nvidia.com/gpu", Asks: 2, Bound: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.job.InQueue(tc.queue)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if again := tc.job.InQueue(tc.queue); again != tc.want {
				t.Errorf("a second look says %v", again)
			}
		})
	}
}
