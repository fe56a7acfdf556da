package sizing

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var node = Amounts{"pods": 1, "cpu": 2000, "memory": 4 << 30, "nvidia.com/gpu": 1}

func TestSizeInQuota(t *testing.T) {
	launcherIsNode := Job{DefaultNodes: 2, MaxNodes: 8, LauncherIsNode: true, Launcher: node, Node: node}
	smallLauncher := Job{DefaultNodes: 2, MaxNodes: 8, Launcher: Amounts{"pods": 1, "cpu": 500}, Node: node}
	withInitializer := launcherIsNode
	withInitializer.Initializers = []Pod{{"dataset initializer", Amounts{"pods": 1, "cpu": 6000}}}
	for name, tc := range map[string]struct {
		job   Job
		quota Amounts
		want  Size
	}{
		"without a quota the runtime's maximum is the limit":       {launcherIsNode, nil, Size{Nodes: 8}},
		"a quota that the largest TrainJob fills is no limit":      {launcherIsNode, Amounts{"cpu": 16000}, Size{Nodes: 8}},
		"a launcher that is a node counts as one node":             {launcherIsNode, Amounts{"cpu": 15999}, Size{7, Shortage{Resource: "cpu", Requested: 16000, Available: 15999}}},
		"a launcher that is no node counts in addition":            {smallLauncher, Amounts{"cpu": 6500}, Size{3, Shortage{Resource: "cpu", Requested: 8500, Available: 6500}}},
		"a resource that no pod requests is no limit":              {launcherIsNode, Amounts{"example.com/fpga": 0}, Size{Nodes: 8}},
		"a quota of one pod is too small for any TrainJob":         {launcherIsNode, Amounts{"pods": 1}, Size{0, Shortage{Resource: "pods", Requested: 2, Available: 1}}},
		"the scarcest resource is the limit":                       {launcherIsNode, Amounts{"cpu": 12000, "memory": 12 << 30}, Size{3, Shortage{Resource: "memory", Requested: 16 << 30, Available: 12 << 30}}},
		"an initializer that exceeds the quota stops all":          {withInitializer, Amounts{"cpu": 5000}, Size{0, Shortage{Resource: "cpu", Pod: "dataset initializer", Requested: 6000, Available: 5000}}},
		"requests of initializers and nodes are not added up here": {withInitializer, Amounts{"cpu": 6000}, Size{3, Shortage{Resource: "cpu", Requested: 8000, Available: 6000}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.job.SizeInQuota(tc.quota)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSizeIsTheLargest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	amounts := func(most int64) Amounts {
		return Amounts{"pods": 1, "cpu": random.Int64N(most), "memory": random.Int64N(most), "nvidia.com/gpu": random.Int64N(4)}
	}
	zero, limited := 0, 0
	for range 5000 {
		job := Job{MaxNodes: 1 + random.IntN(20), LauncherIsNode: random.IntN(2) == 0, Launcher: amounts(50), Node: amounts(50)}
		quota := amounts(500)
		quota["pods"] = random.Int64N(20)
		size := job.SizeInQuota(quota)
		if size.Nodes > 0 && len(job.Shortages(quota, size.Nodes)) > 0 {
			t.Fatalf("%+v does not fit into %v with %d nodes, which is the returned size", job, quota, size.Nodes)
		}
		if size.Nodes < job.MaxNodes {
			limited++
			if shortages := job.Shortages(quota, size.Nodes+1); len(shortages) == 0 || size.Limit != shortages[0] {
				t.Fatalf("%+v fits into %v with %d nodes, which is one more than the returned size", job, quota, size.Nodes+1)
			}
		}
		if size.Nodes == 0 {
			zero++
		}
	}
	if zero < 100 || limited < 1000 {
		t.Errorf("%d sizes are zero and %d are limited by the quota: too few for a test", zero, limited)
	}
}

func TestFormat(t *testing.T) {
	for name, tc := range map[string]struct {
		resource, quantity, want string
	}{
		"one CPU":                    {"cpu", "1", "1 CPU"},
		"whole CPUs":                 {"cpu", "4", "4 CPUs"},
		"fractions of CPUs":          {"cpu", "1500m", "1.5 CPUs"},
		"memory has a binary unit":   {"memory", "2Gi", "2Gi of memory"},
		"decimal units of memory":    {"memory", "1G", "954Mi of memory"},
		"local disk has its name":    {"ephemeral-storage", "4Gi", "4Gi of ephemeral-storage"},
		"devices keep their names":   {"nvidia.com/gpu", "3", "3 of nvidia.com/gpu"},
		"pods are counted as a noun": {"pods", "3", "3 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			amounts, err := ParseAmounts(map[string]any{tc.resource: tc.quantity}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := Format(tc.resource, amounts[tc.resource]); got != tc.want {
				t.Errorf("Format() = %s, want %s", got, tc.want)
			}
		})
	}
}
