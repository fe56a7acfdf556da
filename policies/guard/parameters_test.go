package guard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

func TestReadParameters(t *testing.T) {
	got := parameters(t, limitsWith("ownRuntimes", "true", "team-mpi.hostfile", "unreadable"))
	want := Parameters{
		Runtimes: map[string]Runtime{
			"mpi": {
				Kind: "ClusterTrainingRuntime", Image: "quay.io/acme/mpi:1", MaxNodes: 8, MaxProcPerNode: 4, MaxGPUsPerNode: 4,
				NumProcPerNode: 1, GPUs: map[string]int64{"nvidia.com/gpu": 2}, Resources: map[string]string{}, MaxName: 44,
				Initializers: []string{"dataset", "model"},
			},
			"team-mpi": {
				Kind: "TrainingRuntime", Image: "quay.io/acme/mpi:2", MaxNodes: 2, MaxProcPerNode: 4,
				NumProcPerNode: 4, GPUs: map[string]int64{}, Resources: map[string]string{}, MaxName: 44,
				Initializers: []string{}, Hostfile: HostfileUnreadable,
			},
		},
		Own:    &Runtime{MaxNodes: 3, MaxProcPerNode: 4, MaxGPUsPerNode: 1, NumProcPerNode: 1, GPUs: map[string]int64{}, Resources: map[string]string{}, MaxName: 44},
		Exempt: []string{}, Labels: []string{"team", "cost.acme.example/centre"}, Annotations: []string{"kueue.x-k8s.io/podset-group-name"},
		NodeLabels: []string{"zone"}, Managers: []string{v1alpha1.TrainJobController}, Encryption: "none",
		Queues: []string{}, PriorityClasses: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadParameters(): -want +got:\n%s", diff)
	}
}

func TestReadParametersRefusesInvalidValues(t *testing.T) {
	cases := map[string]struct{ key, value, want string }{
		"a word for a number":          {"mpi.maxNodes", "many", "mpi.maxNodes: want a whole number"},
		"a word for a boolean":         {"ownRuntimes", "yes", "ownRuntimes: want true or false"},
		"GPUs without number":          {"mpi.gpus", "nvidia.com/gpu", "mpi.gpus: want RESOURCE=NUMBER"},
		"a runtime without its limits": {"other.kind", "TrainingRuntime", "other.maxNodes: it is missing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ReadParameters(limitsWith(tc.key, tc.value))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ReadParameters() = %v, want an error with %q", err, tc.want)
			}
		})
	}
	if _, err := ReadParameters(nil); err == nil {
		t.Error("ReadParameters() of no data returns no error")
	}
}
