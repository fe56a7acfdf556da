package controlplane_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/offline"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/guardtest"
)

// randomJobs is the number of TrainJobs submitted to each version of Trainer. At least minOutcome TrainJobs must be
// admitted, and at least minOutcome TrainJobs must be refused.
const (
	randomJobs = 220
	minOutcome = 20
)

// TestPolicyEvaluatorsAgree checks random TrainJobs with three evaluators. The API server with the generated policy
// and the offline evaluator must return exactly the same message, and package guard must find the same violated
// rules.
func TestPolicyEvaluatorsAgree(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		objs := applyPolicies(t, cp, v)
		var objects []map[string]any
		for _, obj := range objs {
			objects = append(objects, fieldsOf(t, obj))
		}
		policies, err := offline.Compile(objects)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for seed := range uint64(randomJobs) {
			c := randomCase(t, seed, v)
			text, _ := yaml.Marshal(c.TrainJob)
			outcome, err := policies.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			parameters, reader, err := guard.FindParameters(objects, c.Tenant)
			if err != nil {
				t.Fatal(err)
			}
			rules := guardtest.Rules(t, reader, parameters, c)
			if diff := cmp.Diff(outcome.Rules, rules); diff != "" {
				t.Fatalf("seed %d: -offline +guard:\n%s\n%s", seed, diff, text)
			}
			want := append(outcome.Messages, "")[0]
			if got, err := submit(t, cp, c); got != want {
				t.Fatalf("seed %d: the API server returns %v\nthe offline evaluator returns %q\n%s", seed, err, want, text)
			}
			if want == "" {
				rules = []string{"admitted"}
			}
			for _, rule := range rules {
				seen[rule]++
			}
		}
		t.Log(seen)
		if seen["admitted"] < minOutcome || seen["admitted"] > randomJobs-minOutcome {
			t.Errorf("%d of %d TrainJobs are admitted, want at least %d admitted and refused", seen["admitted"], randomJobs, minOutcome)
		}
		for _, rule := range guard.Rules() {
			if seen[string(rule.Rule)] == 0 && !v.neverViolates(rule.Rule) {
				t.Errorf("no TrainJob violates rule %s", rule.Rule)
			}
		}
	})
}

// neverViolates reports whether no TrainJob of this test can violate a rule. For such a rule, the API server refuses
// each violation before it evaluates the policy, or the rule does not apply to the example acme or to the user of
// this test.
func (v version) neverViolates(rule guard.Rule) bool {
	rules := []guard.Rule{
		guard.RuleUnknownManager, guard.RuleDisallowedVariableSource, guard.RuleUnencryptedRDMA,
		// The user of this test may set all metadata. TestTenantsCannotSetMetadataOfControllers uses other users.
		guard.RuleReservedMetadata, guard.RuleOrphaningDeletion,
	}
	if v.trainer == "trainer-2.3" {
		rules = append(rules, guard.RuleMissingResources)
	}
	return slices.Contains(rules, rule)
}

// dice generates random TrainJobs that the API of one version of Trainer accepts.
type dice struct {
	*rand.Rand
	overrides bool // TrainJobs have podTemplateOverrides, as in Trainer 2.1
}

// randomCase returns a TrainJob that violates a rule with a probability of about one half. The same seed always gives
// the same TrainJob.
func randomCase(t *testing.T, seed uint64, v version) cases.Case {
	t.Helper()
	d := dice{rand.New(rand.NewPCG(seed, 6)), v.trainer == "trainer-2.1"}
	fields := []string{fmt.Sprintf("runtimeRef: %s", d.runtime())}
	if d.usually() {
		fields = append(fields, "trainer: "+d.trainer())
	}
	if d.rarely() {
		fields = append(fields, "initializer: {dataset: {secretRef: {name: "+d.secret()+"}, env: "+d.env()+"}}")
	}
	if d.rarely() {
		fields = append(fields, "managedBy: "+d.of(v1alpha1.TrainJobController, "kueue.x-k8s.io/multikueue"))
	}
	if d.overrides && d.rarely() {
		fields = append(fields, "labels: "+d.keys(), "annotations: "+d.keys())
	}
	if d.IntN(3) == 0 {
		fields = append(fields, d.patches())
	}
	size := 5
	if d.rarely() {
		size = []int{33, 34, 44, 45}[d.IntN(4)]
	}
	text := fmt.Sprintf("{metadata: {name: %s}, spec: {%s}}", strings.Repeat("j", size), strings.Join(fields, ", "))
	c := cases.Case{Name: text, Tenant: "team-vision"}
	if d.IntN(4) == 0 {
		c.Tenant = "team-physics" // a tenant with TrainingRuntimes of its own
	}
	if err := yaml.Unmarshal([]byte(text), &c.TrainJob); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c.Completed()
}

func (d dice) rarely() bool               { return d.IntN(8) == 0 }
func (d dice) usually() bool              { return d.IntN(8) != 0 }
func (d dice) of(values ...string) string { return values[d.IntN(len(values))] }

// some returns at most two of the values, each once.
func (d dice) some(values ...string) []string {
	d.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:d.IntN(3)]
}

func (d dice) runtime() string {
	if d.usually() {
		return d.of("{name: mpi-horovod-gpu}", "{name: mpi-openmpi-cpu}", "{kind: TrainingRuntime, name: mpi-openmpi-gpu-data}")
	}
	return d.of("{name: mpi-deepspeed}", "{name: mpi-openmpi-gpu-data}", "{kind: TrainingRuntime, name: mpi-horovod-gpu}",
		"{apiGroup: example.com, name: mpi-openmpi-cpu}", "{kind: Other, name: mpi-openmpi-cpu}", "{name: mpi-openmpi-cpu.kind}", `{name: "mpi-\nopenmpi-cpu"}`)
}

func (d dice) trainer() string {
	var fields []string
	add := func(chosen bool, field, value string) {
		if chosen {
			fields = append(fields, field+": "+value)
		}
	}
	add(d.IntN(2) == 0, "numNodes", d.of("1", "2", "4", "16", "17", "64", "65", "0", "-1"))
	processes := []string{"1", "2", "4", "8", "9", "0"}
	if d.overrides {
		processes = append(processes, "auto", `"4"`)
	}
	add(d.IntN(2) == 0, "numProcPerNode", d.of(processes...))
	add(d.rarely(), "image", d.of("quay.io/acme/openmpi:4.1.6", "quay.io/acme/openmpi-cuda:4.1.6", "other"))
	add(d.IntN(3) == 0, "resourcesPerNode", "{limits: "+d.amounts()+", requests: "+d.amounts()+d.of("", "", "", "", ", claims: [{name: a}]")+"}")
	add(d.IntN(3) == 0, "env", d.env())
	large := "x" + strings.Repeat("x", d.IntN(2)*60000) // the API server admits at most 65536 bytes in an argument
	add(d.rarely(), "args", "["+strings.Join([]string{large, large, large}, ", ")+"]")
	return "{" + strings.Join(fields, ", ") + "}"
}

func (d dice) amounts() string {
	var fields []string
	if d.IntN(4) > 0 {
		fields = append(fields, "cpu: "+d.of("1", "1", "1", "1", "1", "0"), "memory: "+d.of("1Gi", "1Gi", "1Gi", "1Gi", `"1e999"`)) // required by Trainer up to 2.2
	}
	for _, name := range d.some("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "example.com/myGPU") {
		fields = append(fields, name+": "+d.of("0", "1", "2", `"4"`, "500m", "8000m", "8001m", "9", "-4", "1e1", "1Ki", "16", "17"))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (d dice) env() string {
	var items []string
	for _, name := range d.some("EPOCHS", "NCCL_DEBUG", "OMPI_MCA_orte_default_hostfile", "I_MPI_PERHOST", "ORTE") {
		source := "value: a"
		if d.rarely() {
			source = d.of("valueFrom: {secretKeyRef: {name: "+d.secret()+", key: a}}", "valueFrom: {fieldRef: {fieldPath: metadata.name}}")
		}
		if name == "OMPI_MCA_orte_default_hostfile" && d.usually() {
			continue
		}
		items = append(items, "{name: "+name+", "+source+"}")
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (d dice) secret() string { return d.of("hub", "token", "mpi-ssh-auth", "other-mpi-ssh-auth") }

func (d dice) keys() string {
	var fields []string
	for _, name := range d.some("kueue.x-k8s.io/podset-preferred-topology", "kueue.x-k8s.io/podset-group-name", "a", v1alpha1.RoleLabel, `""`) {
		fields = append(fields, name+": b")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
