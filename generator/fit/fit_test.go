package fit

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// node is 2 CPUs, 4 GiB and a GPU.
var node = Amounts{"pods": 1, "cpu": 2000, "memory": 4 << 30, "nvidia.com/gpu": 1}

func TestInQuota(t *testing.T) {
	first := Job{Default: 2, Most: 8, LauncherIsNode: true, Launcher: node, Node: node}
	apart := Job{Default: 2, Most: 8, Launcher: Amounts{"pods": 1, "cpu": 500}, Node: node}
	fetching := first
	fetching.Before = []Pod{{"dataset initializer", Amounts{"pods": 1, "cpu": 6000}}}
	for name, tc := range map[string]struct {
		job   Job
		quota Amounts
		want  Fit
	}{
		"without a bound the runtime's own limit decides":   {first, nil, Fit{Nodes: 8}},
		"a bound that the largest fills decides on nothing": {first, Amounts{"cpu": 16000}, Fit{Nodes: 8}},
		"a launcher that is a node counts as one":           {first, Amounts{"cpu": 15999}, Fit{7, Shortage{Resource: "cpu", Asks: 16000, Bound: 15999}}},
		"a launcher apart counts besides":                   {apart, Amounts{"cpu": 6500}, Fit{3, Shortage{Resource: "cpu", Asks: 8500, Bound: 6500}}},
		"what nobody asks for bounds nothing":               {first, Amounts{"example.com/fpga": 0}, Fit{Nodes: 8}},
		"one pod is not enough":                             {first, Amounts{"pods": 1}, Fit{0, Shortage{Resource: "pods", Asks: 2, Bound: 1}}},
		"the scarcest resource decides":                     {first, Amounts{"cpu": 12000, "memory": 12 << 30}, Fit{3, Shortage{Resource: "memory", Asks: 16 << 30, Bound: 12 << 30}}},
		"what runs before has to fit by itself":             {fetching, Amounts{"cpu": 5000}, Fit{0, Shortage{Resource: "cpu", Who: "dataset initializer", Asks: 6000, Bound: 5000}}},
		"what runs before does not add up":                  {fetching, Amounts{"cpu": 6000}, Fit{3, Shortage{Resource: "cpu", Asks: 8000, Bound: 6000}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.job.InQuota(tc.quota)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTheMostIsTheMost: what is said to fit does, and one node more does not.
func TestTheMostIsTheMost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	amounts := func(most int64) Amounts {
		return Amounts{"pods": 1, "cpu": random.Int64N(most), "memory": random.Int64N(most), "nvidia.com/gpu": random.Int64N(4)}
	}
	never, bounded := 0, 0
	for range 5000 {
		job := Job{Most: 1 + random.IntN(20), LauncherIsNode: random.IntN(2) == 0, Launcher: amounts(50), Node: amounts(50)}
		quota := amounts(500)
		quota["pods"] = random.Int64N(20)
		f := job.InQuota(quota)
		if f.Nodes > 0 && len(job.Over(quota, f.Nodes)) > 0 {
			t.Fatalf("%+v in %v: %d nodes are said to fit", job, quota, f.Nodes)
		}
		if f.Nodes < job.Most {
			bounded++
			if over := job.Over(quota, f.Nodes+1); len(over) == 0 || f.Bound != over[0] {
				t.Fatalf("%+v in %v: %d nodes fit, too", job, quota, f.Nodes+1)
			}
		}
		if f.Nodes == 0 {
			never++
		}
	}
	if never < 100 || bounded < 1000 {
		t.Errorf("%d never fit and %d are bounded: too few to test anything", never, bounded)
	}
}

func TestWords(t *testing.T) {
	for name, tc := range map[string]struct {
		resource, given, words string
	}{
		"whole CPUs":              {"cpu", "4", "4 CPUs"},
		"parts of CPUs":           {"cpu", "1500m", "1.5 CPUs"},
		"memory is told in MiB":   {"memory", "2Gi", "2048 MiB"},
		"memory in thousands":     {"memory", "1G", "954 MiB"},
		"devices have their name": {"nvidia.com/gpu", "3", "3 of nvidia.com/gpu"},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := Read(map[string]any{tc.resource: tc.given}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := Words(tc.resource, read[tc.resource]); got != tc.words {
				t.Errorf("Words() = %s, want %s", got, tc.words)
			}
		})
	}
}
