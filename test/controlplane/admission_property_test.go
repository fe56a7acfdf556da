package controlplane_test

import (
	"fmt"
	"math/rand/v2"
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

// randomJobs is the number of TrainJobs that the test submits for each version of Trainer and each platform. At
// least minOutcome of these TrainJobs must be admitted, and at least minOutcome must be refused.
const (
	randomJobs = 220
	minOutcome = 20
)

// TestPolicyEvaluatorsAgree submits random TrainJobs as an editor of a tenant, and compares three evaluators of the
// admission rules. The first evaluator is the API server, which applies the generated policy. The second evaluator is
// the package "offline". For each random TrainJob, these two evaluators must return exactly the same message. The third
// evaluator is the package "guard". For each random TrainJob, the package "guard" must find the same violated rules as
// the package "offline". Each rule that a new TrainJob can violate must refuse at least one of the random TrainJobs.
func TestPolicyEvaluatorsAgree(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		seen := map[string]int{}
		for platform, layer := range map[string]string{"with Kueue": "", "without Kueue": guardtest.WithoutKueue} {
			t.Run(platform, func(t *testing.T) {
				e := newEvaluators(t, cp, v, layer)
				setKueueLabel(t, cp, "team-speech", "null")
				t.Cleanup(func() { setKueueLabel(t, cp, "team-speech", `"true"`) })
				if layer == "" {
					awaitRefusal(t, cp, "team-speech", "mpi-deepspeed", "unmanaged-namespace")
				}
				admissions := 0
				for seed := range uint64(randomJobs) {
					rules := e.expectSameRules(t, randomCase(t, seed, v))
					for _, rule := range rules {
						seen[rule]++
					}
					if len(rules) == 0 {
						admissions++
					}
				}
				if admissions < minOutcome || admissions > randomJobs-minOutcome {
					t.Errorf("%d of %d TrainJobs are admitted, want at least %d admitted and refused", admissions, randomJobs, minOutcome)
				}
			})
		}
		t.Log(seen)
		for _, rule := range guard.Rules() {
			if (seen[string(rule.Rule)] == 0) != v.neverViolates(rule.Rule) {
				t.Errorf("%d TrainJobs violate rule %s", seen[string(rule.Rule)], rule.Rule)
			}
		}
	})
}

// testsOfOtherRequests contains the rules about updates or deletions, which a new TrainJob cannot violate. The
// value of each entry is the test that sends updates or deletions to the API server.
var testsOfOtherRequests = map[guard.Rule]func(*testing.T){
	guard.RuleRemovedQueuePatch: TestTrainJobsAreAdmittedOrRefused, // the cases with the key "before" in policies/testdata
	guard.RuleManualResume:      TestTenantsCannotResumeQueuedTrainJobs,
	guard.RuleOrphaningDeletion: TestTenantsCannotOrphanPods,
	guard.RuleOwnedJobSet:       TestTenantsCannotOrphanPods,
}

// neverViolates reports whether every new TrainJob for this version of Trainer satisfies the rule.
func (v version) neverViolates(rule guard.Rule) bool {
	if testsOfOtherRequests[rule] != nil {
		return true
	}
	switch rule {
	case guard.RuleMissingResources: // since Trainer 2.3, a TrainJob keeps the runtime's resources that it does not set
		return v.trainer == "trainer-2.3"
	}
	return false
}

// evaluators holds the inputs of the three evaluators of admission rules: the API server, the package
// "offline", and the package "guard".
type evaluators struct {
	cp      *controlplane.ControlPlane
	offline *offline.Policies
	objects []map[string]any
}

// newEvaluators merges a layer into the example acme, applies the result, and returns the inputs of the evaluators. The
// layer can be empty.
func newEvaluators(t *testing.T, cp *controlplane.ControlPlane, v version, layer string) evaluators {
	t.Helper()
	e := evaluators{cp: cp}
	for _, obj := range applyPlatform(t, cp, v, layer) {
		e.objects = append(e.objects, readFields(t, obj))
	}
	var err error
	if e.offline, err = offline.Compile(e.objects); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e evaluators) guardFor(t *testing.T, tenant string) (guard.Reader, guard.Parameters) {
	t.Helper()
	parameters, reader, err := guard.FindParameters(e.objects, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return reader, parameters
}

// expectSameRules submits the TrainJob of a case as an editor of its tenant, checks that all evaluators agree,
// and returns the rules that the TrainJob violates.
func (e evaluators) expectSameRules(t *testing.T, c cases.Case) []string {
	t.Helper()
	text, _ := yaml.Marshal(c.TrainJob)
	outcome, err := e.offline.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	reader, parameters := e.guardFor(t, c.Tenant)
	if diff := cmp.Diff(outcome.Rules, guardtest.Rules(t, reader, parameters, c)); diff != "" {
		t.Fatalf("%s: -offline +guard:\n%s\n%s", c.Name, diff, text)
	}
	want := append(outcome.Messages, "")[0]
	if got, err := submitAs(t, e.cp, c, strings.TrimPrefix(c.Tenant, "team-"), "system:authenticated"); got != want {
		t.Fatalf("%s: the API server returns %v\nthe offline evaluator returns %q\n%s", c.Name, err, want, text)
	}
	return outcome.Rules
}

// dice generates random TrainJobs that the API of one version of Trainer accepts.
type dice struct {
	*rand.Rand
	overrides bool // TrainJobs have podTemplateOverrides, as in Trainer 2.1
}

// randomCase returns a case whose TrainJob violates an admission rule with a probability of about one half. The same
// seed always gives the same TrainJob.
func randomCase(t *testing.T, seed uint64, v version) cases.Case {
	t.Helper()
	d := dice{rand.New(rand.NewPCG(seed, 6)), v.trainer == "trainer-2.1"}
	c := cases.Case{Name: fmt.Sprintf("seed %d", seed), Tenant: "team-vision"}
	switch d.IntN(8) {
	case 0, 1:
		c.Tenant = "team-physics" // a tenant with TrainingRuntimes of its own, and a runtime with Intel MPI
	case 2:
		c.Tenant, c.NamespaceLabels = "team-speech", map[string]string{} // the namespace has no label of Kueue
	}
	fields := []string{fmt.Sprintf("runtimeRef: %s", d.runtime(c.Tenant))}
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
		fields = append(fields, d.randomPatches())
	}
	size := 5
	if d.rarely() {
		size = []int{33, 34, 44, 45}[d.IntN(4)]
	}
	text := fmt.Sprintf("{metadata: {name: %s%s}, spec: {%s}}", strings.Repeat("j", size), d.jobMetadata(), strings.Join(fields, ", "))
	if err := yaml.Unmarshal([]byte(text), &c.TrainJob); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c.Completed()
}

func (d dice) jobMetadata() string {
	text := ""
	if d.IntN(3) == 0 {
		text += ", labels: {kueue.x-k8s.io/queue-name: " + d.of("default", "default", "leftover", `""`) + ", kueue.x-k8s.io/priority-class: " + d.of("training-high", "urgent", `""`) + "}"
	}
	if d.rarely() {
		text += ", annotations: {" + d.of("kueue.x-k8s.io/prebuilt-workload-name", "provreq.kueue.x-k8s.io/a", "other.example/kueue", "notkueue.x-k8s.io/a") + ": a}"
	}
	if d.rarely() {
		text += d.of(", finalizers: [a/b]", ", ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b, controller: "+d.of("true", "false")+"}]")
	}
	return text
}

func (d dice) rarely() bool               { return d.IntN(8) == 0 }
func (d dice) usually() bool              { return d.IntN(8) != 0 }
func (d dice) of(values ...string) string { return values[d.IntN(len(values))] }

func (d dice) someOf(values ...string) []string {
	d.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:d.IntN(3)]
}

func (d dice) runtime(tenant string) string {
	switch {
	case d.usually() && tenant == "team-physics":
		return d.of("{name: mpi-openmpi-cpu}", "{kind: TrainingRuntime, name: mpi-intel-cpu}")
	case d.usually():
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
	add(d.IntN(3) == 0, "command", d.of("[mpirun, a]", "[mpirun, --hostfile, /etc/mpi/hostfile, a]", "[a, /etc/mpi/hostfile]"))
	large := "x" + strings.Repeat("x", d.IntN(2)*60000) // the CRD of Trainer 2.2 accepts at most 65536 characters in one item of args
	add(d.rarely(), "args", "["+strings.Join([]string{large, large, large}, ", ")+"]")
	return "{" + strings.Join(fields, ", ") + "}"
}

func (d dice) amounts() string {
	var fields []string
	if d.IntN(4) > 0 {
		fields = append(fields, "cpu: "+d.of("1", "1", "1", "1", "1", "0"), "memory: "+d.of("1Gi", "1Gi", "1Gi", "1Gi", `"1e999"`)) // required by the rule missing-resources up to Trainer 2.2
	}
	for _, name := range d.someOf("nvidia.com/gpu", "amd.com/gpu", "rdma/hca", "nvidia.com/mig-1g.5gb", "example.com/myGPU") {
		fields = append(fields, name+": "+d.of("0", "1", "2", `"4"`, "500m", "8000m", "8001m", "9", "-4", "1e1", "1Ki", "16", "17"))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (d dice) env() string {
	var items []string
	for _, name := range d.someOf("EPOCHS", "NCCL_DEBUG", "OMPI_MCA_orte_default_hostfile", "I_MPI_PERHOST", "ORTE", "PATH") {
		source := "value: " + d.of("a", "/mpi-run/bin:/bin")
		if d.rarely() {
			source = d.of("valueFrom: {secretKeyRef: {name: "+d.secret()+", key: a}}", "valueFrom: {fieldRef: {fieldPath: metadata.name}}", "valueFrom: {fileKeyRef: {volumeName: a, path: a, key: a}}")
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
	for _, name := range d.someOf("kueue.x-k8s.io/podset-preferred-topology", "kueue.x-k8s.io/podset-group-name", "a", v1alpha1.RoleLabel, `""`) {
		fields = append(fields, name+": b")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
