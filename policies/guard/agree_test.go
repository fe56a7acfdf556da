package guard_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/test/guardtest"
)

// versionsByFile maps each file of policies/testdata to the versions of Trainer for which the file's cases are valid.
var versionsByFile = map[string][]string{
	"any.yaml": {"2.1", "2.2", "2.3"}, "overrides.yaml": {"2.1"}, "patches.yaml": {"2.2", "2.3"},
}

// TestCasesOfThePolicy evaluates each case with the package "guard". The TrainJob must break exactly the
// rules that the case lists. Other tests evaluate the same cases with the admission policy in CEL, to show
// that both implementations agree.
func TestCasesOfThePolicy(t *testing.T) {
	objects := guardtest.Objects(t)
	for _, file := range guardtest.Files(t) {
		versions := versionsByFile[file]
		if len(versions) == 0 {
			t.Errorf("%s has no versions of Trainer", file)
		}
		for _, version := range versions {
			for _, c := range guardtest.Cases(t, file) {
				t.Run(version+"/"+c.Name, func(t *testing.T) {
					if diff := cmp.Diff(c.Refused, rulesBroken(t, objects, version, c)); diff != "" {
						t.Errorf("-policy +guard:\n%s", diff)
					}
				})
			}
		}
	}
}

func rulesBroken(t *testing.T, objects []map[string]any, version string, c cases.Case) []string {
	t.Helper()
	parameters, _, err := guard.FindParameters(objects, c.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := guard.ReaderFor(version)
	if err != nil {
		t.Fatal(err)
	}
	return guardtest.Rules(t, reader, parameters, c)
}

// TestSlotConfigurationMismatch tests the rule process-limit. Some TrainJobs set the number of processes. The other
// TrainJobs use Trainer's default, one process for each GPU.
func TestSlotConfigurationMismatch(t *testing.T) {
	objects := guardtest.Objects(t)
	for name, tc := range map[string]struct {
		trainer map[string]any
		want    []string
	}{
		"the limit":                             {map[string]any{"numProcPerNode": int64(8)}, nil},
		"one more than the limit":               {map[string]any{"numProcPerNode": int64(9)}, []string{"process-limit"}},
		"zero":                                  {map[string]any{"numProcPerNode": int64(0)}, []string{"process-limit"}},
		"one process for each of too many GPUs": {map[string]any{"resourcesPerNode": map[string]any{"limits": map[string]any{"nvidia.com/gpu": int64(9)}}}, []string{"process-limit", "gpu-limit"}},
		"one process for each of enough GPUs":   {map[string]any{"resourcesPerNode": map[string]any{"limits": map[string]any{"nvidia.com/gpu": int64(8)}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := cases.Case{Tenant: "team-vision", TrainJob: map[string]any{
				"spec": map[string]any{"runtimeRef": map[string]any{"name": "mpi-horovod-gpu"}, "trainer": tc.trainer},
			}}
			if diff := cmp.Diff(tc.want, rulesBroken(t, objects, "2.3", c.Completed())); diff != "" {
				t.Errorf("-want +guard:\n%s", diff)
			}
		})
	}
}
