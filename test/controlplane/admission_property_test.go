package controlplane_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/offline"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/guarded"
)

// judged is how many TrainJobs are submitted to each version of Trainer, and least how many of
// them at least must be admitted, and must be refused.
const (
	judged = 220
	least  = 20
)

// TestAllJudgesAgree: the API server with our policy and its evaluator without it say the same of
// TrainJobs that nobody thought of, word by word, and guard finds the same rules broken.
func TestAllJudgesAgree(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		objs := judge(t, cp, v)
		var objects []map[string]any
		for _, obj := range objs {
			objects = append(objects, fieldsOf(t, obj))
		}
		policies, err := offline.Compile(objects)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for seed := range uint64(judged) {
			c := randomCase(t, seed, v)
			text, _ := yaml.Marshal(c.TrainJob)
			outcome, err := policies.Try(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			parameters, reader, err := guard.Find(objects, c.Tenant)
			if err != nil {
				t.Fatal(err)
			}
			rules := guarded.Rules(t, reader, parameters, c)
			if diff := cmp.Diff(outcome.Rules, rules); diff != "" {
				t.Fatalf("seed %d: -offline +guard:\n%s\n%s", seed, diff, text)
			}
			first := append(outcome.Messages, "")[0]
			if said, err := verdict(t, cp, c); said != first {
				t.Fatalf("seed %d: the API server says %v\nthe evaluator says %q\n%s", seed, err, first, text)
			}
			if first == "" {
				rules = []string{"admitted"}
			}
			for _, rule := range rules {
				seen[rule]++
			}
		}
		t.Log(seen)
		if seen["admitted"] < least || seen["admitted"] > judged-least {
			t.Errorf("%d of %d are admitted: the TrainJobs are no good", seen["admitted"], judged)
		}
		for _, rule := range guard.Rules() {
			if seen[string(rule.Rule)] == 0 && !v.keeps(rule.Rule) {
				t.Errorf("no TrainJob breaks rule %s", rule.Rule)
			}
		}
	})
}

// keeps tells whether no TrainJob here can break a rule: its API server takes none that would, or the example acme is no platform where it matters.
func (v version) keeps(rule guard.Rule) bool {
	unbroken := []guard.Rule{guard.RuleManager, guard.RuleEnvSources, guard.RuleEncryption}
	if v.trainer == "trainer-2.3" {
		unbroken = append(unbroken, guard.RuleResources)
	}
	return slices.Contains(unbroken, rule)
}

// dice make TrainJobs that a version's API takes.
type dice struct {
	*rand.Rand
	overrides bool // patches are those of Trainer 2.1
}

// randomCase is a TrainJob that is as likely to keep all rules as not. The same seed makes the same.
func randomCase(t *testing.T, seed uint64, v version) cases.Case {
	t.Helper()
	d := dice{rand.New(rand.NewPCG(seed, 6)), v.trainer == "trainer-2.1"}
	fields := []string{fmt.Sprintf("runtimeRef: %s", d.runtime())}
	if d.often() {
		fields = append(fields, "trainer: "+d.trainer())
	}
	if d.seldom() {
		fields = append(fields, "initializer: {dataset: {secretRef: {name: "+d.secret()+"}, env: "+d.env()+"}}")
	}
	if d.seldom() {
		fields = append(fields, "managedBy: "+d.of("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"))
	}
	if d.overrides && d.seldom() {
		fields = append(fields, "labels: "+d.keys(), "annotations: "+d.keys())
	}
	if d.IntN(3) == 0 {
		fields = append(fields, d.patches())
	}
	size := 5
	if d.seldom() {
		size = []int{33, 34, 44, 45}[d.IntN(4)]
	}
	text := fmt.Sprintf("{metadata: {name: %s}, spec: {%s}}", strings.Repeat("j", size), strings.Join(fields, ", "))
	c := cases.Case{Name: text, Tenant: "team-vision"}
	if d.IntN(4) == 0 {
		c.Tenant = "team-physics" // which may make runtimes of its own
	}
	if err := yaml.Unmarshal([]byte(text), &c.TrainJob); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c.Completed()
}

func (d dice) seldom() bool              { return d.IntN(8) == 0 }
func (d dice) often() bool               { return d.IntN(8) != 0 }
func (d dice) of(words ...string) string { return words[d.IntN(len(words))] }

// some are a few of these, each once.
func (d dice) some(words ...string) []string {
	d.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return words[:d.IntN(3)]
}

func (d dice) runtime() string {
	if d.often() {
		return d.of("{name: mpi-horovod-gpu}", "{name: mpi-openmpi-cpu}", "{kind: TrainingRuntime, name: mpi-openmpi-gpu-data}")
	}
	return d.of("{name: mpi-deepspeed}", "{name: mpi-openmpi-gpu-data}", "{kind: TrainingRuntime, name: mpi-horovod-gpu}",
		"{apiGroup: example.com, name: mpi-openmpi-cpu}", "{kind: Other, name: mpi-openmpi-cpu}", "{name: mpi-openmpi-cpu.kind}", `{name: "mpi-\nopenmpi-cpu"}`)
}

func (d dice) trainer() string {
	var fields []string
	add := func(often bool, field, value string) {
		if often {
			fields = append(fields, field+": "+value)
		}
	}
	add(d.IntN(2) == 0, "numNodes", d.of("1", "2", "4", "16", "17", "64", "65", "0", "-1"))
	processes := []string{"1", "2", "4", "8", "9", "0"}
	if d.overrides {
		processes = append(processes, "auto", `"4"`)
	}
	add(d.IntN(2) == 0, "numProcPerNode", d.of(processes...))
	add(d.seldom(), "image", d.of("quay.io/acme/openmpi:4.1.6", "quay.io/acme/openmpi-cuda:4.1.6", "other"))
	add(d.IntN(3) == 0, "resourcesPerNode", "{limits: "+d.amounts()+", requests: "+d.amounts()+d.of("", "", "", "", ", claims: [{name: a}]")+"}")
	add(d.IntN(3) == 0, "env", d.env())
	return "{" + strings.Join(fields, ", ") + "}"
}

func (d dice) amounts() string {
	var fields []string
	if d.IntN(4) > 0 {
		fields = append(fields, "cpu: 1", "memory: 1Gi") // which Trainer up to 2.2 has to be told
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
		if d.seldom() {
			source = d.of("valueFrom: {secretKeyRef: {name: "+d.secret()+", key: a}}", "valueFrom: {fieldRef: {fieldPath: metadata.name}}")
		}
		if name == "OMPI_MCA_orte_default_hostfile" && d.often() {
			continue
		}
		items = append(items, "{name: "+name+", "+source+"}")
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (d dice) secret() string { return d.of("hub", "token", "mpi-ssh-auth", "other-mpi-ssh-auth") }

func (d dice) keys() string {
	var fields []string
	for _, name := range d.some("kueue.x-k8s.io/podset-preferred-topology", "kueue.x-k8s.io/podset-group-name", "a", "trainyard.dev/role", `""`) {
		fields = append(fields, name+": b")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
