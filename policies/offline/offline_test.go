package offline_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/offline"
	"github.com/trainyard/trainyard/test/guardtest"
)

// TestCases evaluates each case in policies/testdata.
func TestCases(t *testing.T) {
	policies, err := offline.Compile(guardtest.Objects(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range guardtest.Files(t) {
		for _, c := range guardtest.Cases(t, file) {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				outcome, err := policies.Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if _, how := outcome.Mismatch(c); how != "" {
					t.Error(how)
				}
			})
		}
	}
}

// expect evaluates a case with the policy and with the package "guard". Both must give the result
// that the case expects.
func expect(t *testing.T, policies *offline.Policies, objects []map[string]any, c cases.Case) {
	t.Helper()
	outcome, err := policies.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, how := outcome.Mismatch(c); how != "" {
		t.Error(how)
	}
	parameters, reader, err := guard.FindParameters(objects, c.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	if got := guardtest.Rules(t, reader, parameters, c); !slices.Equal(got, c.Refused) {
		t.Errorf("guard finds the broken rules %v, want %v", got, c.Refused)
	}
}

// TestRulesOfOtherPlatforms tests a variant of the example acme that has an encrypted network and no Kueue. Two
// TrainJobs break rules on this variant, but not on acme itself. A third TrainJob breaks no rule.
func TestRulesOfOtherPlatforms(t *testing.T) {
	objects := guardtest.Objects(t, guardtest.WithoutKueue)
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
		"the manager MultiKueue without Kueue": {
			TrainJob: spec("managedBy", "kueue.x-k8s.io/multikueue"), Refused: []string{"unknown-manager"}, Says: "want trainer.kubeflow.org/trainjob-controller, or none",
		},
		"RDMA with encryption": {
			TrainJob: spec("trainer", limits("rdma/hca_shared")), Refused: []string{"unencrypted-rdma"}, Says: "rdma/hca_shared bypasses the pod network, which ipsec encrypts here",
		},
		"GPUs with encryption": {TrainJob: spec("trainer", limits("nvidia.com/gpu")), Admitted: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.Name, c.Tenant = name, "team-vision"
			expect(t, policies, objects, c.Completed())
		})
	}
}

// TestPathOfARuntimeConvertsTheHostfile tests the rule unreadable-hostfile on a platform whose runtime starts ranks with
// trainyard's own mpirun.
func TestPathOfARuntimeConvertsTheHostfile(t *testing.T) {
	objects := guardtest.Objects(t, `spec: {runtimes: {mpi-intel-cpu: {env: {PATH: "/mpi-run/bin:/opt/intel/bin:/bin"}}}}`)
	policies, err := offline.Compile(objects)
	if err != nil {
		t.Fatal(err)
	}
	refused := []string{string(guard.RuleUnreadableHostfile)}
	for name, c := range map[string]cases.Case{
		"PATH of the runtime":                 {Admitted: true},
		"the same PATH in the TrainJob":       {TrainJob: map[string]any{"name": "PATH", "value": "/mpi-run/bin:/bin"}, Admitted: true},
		"another PATH in the TrainJob":        {TrainJob: map[string]any{"name": "PATH", "value": "/bin"}, Refused: refused},
		"a PATH from a Secret":                {TrainJob: map[string]any{"name": "PATH", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "a", "key": "b"}}}, Refused: refused},
		"another variable with another value": {TrainJob: map[string]any{"name": "A", "value": "/bin"}, Admitted: true},
	} {
		t.Run(name, func(t *testing.T) {
			trainer := map[string]any{"command": []any{"mpirun", "--hostfile", "/etc/mpi/hostfile", "a"}}
			if c.TrainJob != nil {
				trainer["env"] = []any{c.TrainJob}
			}
			c.TrainJob = map[string]any{"spec": map[string]any{
				"runtimeRef": map[string]any{"kind": "TrainingRuntime", "name": "mpi-intel-cpu"}, "trainer": trainer,
			}}
			c.Name, c.Tenant = name, "team-physics"
			expect(t, policies, objects, c.Completed())
		})
	}
}

func TestNamesOfRuntimeVolumesAreReserved(t *testing.T) {
	objects := guardtest.Objects(t)
	policies, err := offline.Compile(objects)
	if err != nil {
		t.Fatal(err)
	}
	names := volumeNames(objects)
	if len(names) < 4 {
		t.Fatalf("runtimes have only the volumes %v, want at least 4", names)
	}
	for _, name := range append(names, "mpi-ssh-auth", "mpi-hostfile") { // the volumes of Trainer itself
		t.Run(name, func(t *testing.T) {
			patch := map[string]any{"targetJobs": []any{map[string]any{"name": "node"}}, "spec": map[string]any{
				"volumes": []any{map[string]any{"name": name, "emptyDir": map[string]any{}}},
			}}
			c := cases.Case{Name: name, Tenant: "team-vision", Refused: []string{"disallowed-volume"}, TrainJob: map[string]any{"spec": map[string]any{
				"runtimeRef": map[string]any{"name": "mpi-horovod-gpu"}, "podTemplateOverrides": []any{patch},
			}}}.Completed()
			expect(t, policies, objects, c)
		})
	}
}

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
