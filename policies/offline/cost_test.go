package offline

import (
	"fmt"
	"testing"

	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/test/guardtest"
)

// minCostRatio is a safety factor. The CEL cost of the admission policy for a large TrainJob, multiplied by
// minCostRatio, must not exceed the API server's CEL cost budget.
const minCostRatio = 10

// TestCostLeavesRoom evaluates the admission policy twice for a large TrainJob, each time with a different CEL cost
// budget. With a tenth of the API server's budget, the policy must admit the TrainJob. With a tiny budget, the
// policy must refuse the TrainJob, which proves that the budget has an effect.
func TestCostLeavesRoom(t *testing.T) {
	policies, err := Compile(guardtest.Objects(t, "spec: {target: {trainer: \"2.3\", kueue: \"0.19\"}}"))
	if err != nil {
		t.Fatal(err)
	}
	var variables, volumes, mounts []any
	for i := range 100 {
		variables = append(variables, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", i), "value": "a value of some length"})
	}
	for i := range 10 {
		name := fmt.Sprintf("volume-%d", i)
		volumes = append(volumes, map[string]any{"name": name, "configMap": map[string]any{"name": name}})
		mounts = append(mounts, map[string]any{"name": name, "mountPath": "/" + name})
	}
	var jobs []any
	for _, name := range []string{"launcher", "node"} {
		containers := []any{map[string]any{"name": "preflight", "env": variables, "volumeMounts": mounts}}
		pod := map[string]any{"spec": map[string]any{"volumes": volumes, "initContainers": containers}}
		jobs = append(jobs, map[string]any{"name": name, "template": map[string]any{"spec": map[string]any{"template": pod}}})
	}
	jobSet := map[string]any{"spec": map[string]any{"replicatedJobs": jobs}}
	large := cases.Case{Name: "large", Tenant: "team-vision", TrainJob: map[string]any{"spec": map[string]any{
		"runtimeRef":     map[string]any{"name": "mpi-openmpi-cpu"},
		"trainer":        map[string]any{"env": variables, "numNodes": int64(4)},
		"runtimePatches": []any{map[string]any{"manager": "acme.example/me", "trainingRuntimeSpec": map[string]any{"template": jobSet}}},
	}}}
	for _, tc := range []struct {
		budget   int64
		admitted bool
	}{{celconfig.RuntimeCELCostBudget / minCostRatio, true}, {1000, false}} {
		for _, p := range policies.compiled {
			p.budget = tc.budget
		}
		outcome, err := policies.Run(t.Context(), large.Completed())
		if err != nil {
			t.Fatal(err)
		}
		if admitted := len(outcome.Rules) == 0; admitted != tc.admitted {
			t.Errorf("with a budget of %d: admitted is %t, want %t: %v", tc.budget, admitted, tc.admitted, outcome.Messages)
		}
	}
}
