package guard_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/internal/acme"
	"github.com/trainyard/trainyard/test/guarded"
)

// versionsOf says for which versions of Trainer the files of policies/testdata are.
var versionsOf = map[string][]string{
	"any.yaml": {"2.1", "2.2", "2.3"}, "overrides.yaml": {"2.1"}, "patches.yaml": {"2.2", "2.3"},
}

// TestCasesOfThePolicy: what the policy refuses in its own tests, guard refuses by the same rules,
// and what it admits, it admits; updates and exempt users are among them.
func TestCasesOfThePolicy(t *testing.T) {
	objects := acme.Objects(t)
	files, err := trainjob.ReadCases("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for file, all := range files {
		versions := versionsOf[filepath.Base(file)]
		if len(versions) == 0 {
			t.Errorf("%s is for no version of Trainer", file)
		}
		for _, version := range versions {
			for _, c := range all {
				t.Run(version+"/"+c.Name, func(t *testing.T) {
					if diff := cmp.Diff(c.Refused, rulesBroken(t, objects, version, c.Case)); diff != "" {
						t.Errorf("-policy +guard:\n%s", diff)
					}
				})
			}
		}
	}
}

// rulesBroken are the rules that guard finds broken with a version of Trainer.
func rulesBroken(t *testing.T, objects []map[string]any, version string, c cases.Case) []string {
	t.Helper()
	parameters, _, err := guard.Find(objects, c.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := guard.ReaderFor(version)
	if err != nil {
		t.Fatal(err)
	}
	return guarded.Rules(t, reader, parameters, c)
}

// TestSlotConfigurationMismatch is the edge case of that name, before anybody submits: more processes
// on a node than the runtime allows, whether the TrainJob counts them or Trainer does.
func TestSlotConfigurationMismatch(t *testing.T) {
	objects := acme.Objects(t)
	for name, tc := range map[string]struct {
		trainer map[string]any
		want    []string
	}{
		"as many as there may be":     {map[string]any{"numProcPerNode": int64(8)}, nil},
		"one more":                    {map[string]any{"numProcPerNode": int64(9)}, []string{"processes"}},
		"none":                        {map[string]any{"numProcPerNode": int64(0)}, []string{"processes"}},
		"one for each of many GPUs":   {map[string]any{"resourcesPerNode": map[string]any{"limits": map[string]any{"nvidia.com/gpu": int64(9)}}}, []string{"processes", "gpus"}},
		"one for each of enough GPUs": {map[string]any{"resourcesPerNode": map[string]any{"limits": map[string]any{"nvidia.com/gpu": int64(8)}}}, nil},
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
