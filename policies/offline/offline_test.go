package offline_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/internal/acme"
	"github.com/trainyard/trainyard/policies/offline"
	"github.com/trainyard/trainyard/test/guarded"
)

// TestCasesAreJudgedAsTheySay: the policy refuses by the rules that it should, and says
// what it should.
func TestCasesAreJudgedAsTheySay(t *testing.T) {
	policies, err := offline.Compile(acme.Objects(t))
	if err != nil {
		t.Fatal(err)
	}
	files, err := trainjob.ReadCases("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for file, all := range files {
		for _, c := range all {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				outcome, err := policies.Try(t.Context(), c.Case)
				if err != nil {
					t.Fatal(err)
				}
				if unlike, is := c.Unlike(outcome); is {
					t.Error(unlike)
				}
			})
		}
	}
}

// expectJudges has the policy and guard say of a case what it says itself. Guard reads it as the platform's version of Trainer does.
func expectJudges(t *testing.T, policies *offline.Policies, objects []map[string]any, c cases.Case) {
	t.Helper()
	outcome, err := policies.Try(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, how := outcome.Unlike(c); how != "" {
		t.Error(how)
	}
	parameters, reader, err := guard.Find(objects, c.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	if got := guarded.Rules(t, reader, parameters, c); !slices.Equal(got, c.Refused) {
		t.Errorf("guard has %v against it, want %v", got, c.Refused)
	}
}

// unqueued has nothing of Kueue, and a network that is encrypted.
const unqueued = `
spec:
  target: {gang: none, kueue: null}
  queues: null
  runtimes: {mpi-horovod-gpu: {gang: null}}
  network: {encryption: ipsec}
  tenants: {team-vision: {queues: null}, team-speech: {queues: null}, team-physics: {queues: null}}
`

// TestRulesOfOtherPlatforms are those that the example's own objects never see broken.
func TestRulesOfOtherPlatforms(t *testing.T) {
	objects := acme.Objects(t, unqueued)
	policies, err := offline.Compile(objects)
	if err != nil {
		t.Fatal(err)
	}
	spec := func(key string, value any) map[string]any {
		return map[string]any{"spec": map[string]any{"runtimeRef": map[string]any{"name": "mpi-horovod-gpu"}, key: value}}
	}
	limits := func(device string) map[string]any {
		amounts := map[string]any{"cpu": int64(1), "memory": "1Gi", device: int64(1)}
		return map[string]any{"resourcesPerNode": map[string]any{"limits": amounts}}
	}
	for name, c := range map[string]cases.Case{
		"a controller that nobody runs": {
			TrainJob: spec("managedBy", "kueue.x-k8s.io/multikueue"), Refused: []string{"manager"}, Says: "want trainer.kubeflow.org/trainjob-controller, or none",
		},
		"RDMA beside encryption": {
			TrainJob: spec("trainer", limits("rdma/hca_shared")), Refused: []string{"encryption"}, Says: "rdma/hca_shared goes around the pod network, which ipsec encrypts here",
		},
		"GPUs beside encryption": {TrainJob: spec("trainer", limits("nvidia.com/gpu")), Admitted: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.Name, c.Tenant = name, "team-vision"
			expectJudges(t, policies, objects, c.Completed())
		})
	}
}

// TestVolumesOfRuntimesAreTaken: a TrainJob brings none under the name of one that pods have already,
// whatever volumes runtimes come to have.
func TestVolumesOfRuntimesAreTaken(t *testing.T) {
	objects := acme.Objects(t)
	policies, err := offline.Compile(objects)
	if err != nil {
		t.Fatal(err)
	}
	names := volumeNames(objects)
	if len(names) < 4 {
		t.Fatalf("runtimes have the volumes %v: too few to be all", names)
	}
	for _, name := range append(names, "mpi-ssh-auth", "mpi-hostfile") { // Trainer's own
		t.Run(name, func(t *testing.T) {
			patch := map[string]any{"targetJobs": []any{map[string]any{"name": "node"}}, "spec": map[string]any{
				"volumes": []any{map[string]any{"name": name, "emptyDir": map[string]any{}}},
			}}
			c := cases.Case{Name: name, Tenant: "team-vision", Refused: []string{"patch-volumes"}, TrainJob: map[string]any{"spec": map[string]any{
				"runtimeRef": map[string]any{"name": "mpi-horovod-gpu"}, "podTemplateOverrides": []any{patch},
			}}}.Completed()
			expectJudges(t, policies, objects, c)
		})
	}
}

// volumeNames are those of all pods of runtimes, each once.
func volumeNames(objects []map[string]any) []string {
	var names []string
	for _, o := range objects {
		jobs, _, _ := unstructured.NestedSlice(o, "spec", "template", "spec", "replicatedJobs")
		for _, job := range jobs {
			volumes, _, _ := unstructured.NestedSlice(job.(map[string]any), "template", "spec", "template", "spec", "volumes")
			for _, volume := range volumes {
				names = append(names, volume.(map[string]any)["name"].(string))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
