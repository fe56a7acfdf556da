package generator_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// settingValues lists values for most settings of a runtime. A random runtime has one of the listed values, or
// omits the setting.
var settingValues = map[string][]string{
	"numNodes":               {"1", "3", "8"},
	"numProcPerNode":         {"2", "4"},
	"runLauncherAsNode":      {"true", "false"},
	"resources":              {"{cpu: 2}", "{cpu: 500m, memory: 3Gi}", "{cpu: 2, memory: 1024Mi, nvidia.com/gpu: 2}", "{cpu: 3, nvidia.com/mig-1g.5gb: 3}"},
	"launcher":               {"{resources: {cpu: 3}}", "{resources: {memory: 5Gi}}"},
	"sharedMemory":           {"1Gi", "2048Mi"},
	"ephemeralStorage":       {"8Gi", "1Gi"},
	"imagePullPolicy":        {"Always", "Never"},
	"imagePullSecrets":       {"[a]", "[a, b]"},
	"env":                    {`{A: "1"}`, `{A: "2"}`, `{A: "$(B)", B: x}`, `{A: x, B: "$(A)"}`, `{HOME: /a}`, `{HOME: /b, I_MPI_PERHOST: "2"}`, `{A: "1", HOME: "$(A)"}`},
	"limits":                 {"{maxNodes: 9}", "{maxNodes: 10}", "{maxProcPerNode: 8}"},
	"user":                   {"1000", "2000"},
	"interface":              {"eth0", "net1"},
	"dataInterface":          {"net1", "net2"},
	"fabric":                 {"tcp"},
	"logs":                   {"{tagOutput: false}"},
	"readOnlyRootFilesystem": {"true"},
	"preflight":              {"{timeout: 5m}", "{timeout: 6m}", "{oversubscribe: true}"},
	"storage":                {"{d: {claim: c}}", `{d: {claim: c}}, initializers: {dataset: {storage: d, uri: "hf://a/b", env: {A: x}}}`, `{d: {claim: c}}, initializers: {dataset: {storage: d, uri: "hf://a/b", env: {A: y}}}`, "{d: {claim: c, path: /d, readOnly: true}, e: {s3: x}}"},
	"nodeSelector":           {"{a: b}"},
	"tolerations":            {"[{operator: Exists}]"},
	"annotations":            {"{a.b/c: d}"},
	"gang":                   {"{priorityClass: high}"},
	"scope":                  {"namespace", "cluster"},
}

// TestRuntimesShareShapes generates many runtimes from one document, so that their objects share shapes. Objects of the
// same shape differ only in the values of parameters. The objects of a runtime must be the same with and without the
// other runtimes in the document.
func TestRuntimesShareShapes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	runtimes := map[string]string{}
	for i := range 40 {
		runtimes[fmt.Sprintf("rt-%d", i)] = randomRuntime(random, i)
	}
	together := byID(t, newDocument("together", runtimes))
	alone := map[object.ID]any{}
	for name, runtime := range runtimes {
		for id, fields := range byID(t, newDocument("together", map[string]string{name: runtime})) {
			alone[id] = fields
		}
	}
	if diff := cmp.Diff(alone, together); diff != "" {
		t.Errorf("-alone +together:\n%s", diff)
	}
	if len(together) < 40 {
		t.Errorf("want at least one object for each of the 40 runtimes, got %d", len(together))
	}
}

// tenantChoices lists values for some settings of a tenant. A random tenant has one of the listed values, or
// omits the setting.
var tenantChoices = map[string][]string{
	"quota":             {"{cpu: 8}", "{cpu: 500m, memory: 3Gi}", "{pods: 7, nvidia.com/gpu: 2}", "{cpu: 16, memory: 2048Mi, pods: 9}"},
	"containerDefaults": {"{cpu: 1}", "{cpu: 2, memory: 1Gi}", "{memory: 2Gi}"},
	"editors":           {"{groups: [a]}", "{groups: [a, b], users: [c]}", "{serviceAccounts: [d]}", "{groups: [a]}, grants: [manage-runtimes]"},
	"namespace":         {"{create: true}", "{create: true, labels: {a: b}}", "{create: false}"},
	"viewers":           {"{users: [a]}", "{serviceAccounts: [d, e]}"},
	"isolation":         {"namespace", "job", "none"},
	"egress":            {"{a: {cidrs: [10.0.0.0/8]}}", "{a: {cidrs: [10.0.0.0/8, 11.0.0.0/8], except: [10.1.0.0/16]}}", "{a: {cidrs: [10.0.0.0/8], tcp: [443, 8000-8010]}, b: {namespaces: [c], pods: {d: e}, udp: [9]}}"},
}

// TestTenantsShareShapes compares objects of tenants in the same way as TestRuntimesShareShapes compares objects of
// runtimes.
func TestTenantsShareShapes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	tenants := map[string]string{}
	for i := range 40 {
		var settings []string
		for _, key := range sortedKeys(tenantChoices) {
			if values := tenantChoices[key]; random.IntN(2) == 0 {
				settings = append(settings, key+": "+values[random.IntN(len(values))])
			}
		}
		tenants[fmt.Sprintf("team-%d", i)] = strings.Join(settings, ", ")
	}
	const head = "apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: together}\nspec:\n  network: {jobPolicies: external}\n  runtimes: {mpi: {from: mpich, image: a}}\n"
	together := byID(t, head+tenantsOf(tenants))
	alone := map[object.ID]any{}
	for name, tenant := range tenants {
		for id, fields := range byID(t, head+tenantsOf(map[string]string{name: tenant})) {
			alone[id] = fields
		}
	}
	if diff := cmp.Diff(alone, together); diff != "" {
		t.Errorf("-alone +together:\n%s", diff)
	}
	if len(together) < 80 {
		t.Errorf("want at least two objects for each of the 40 tenants, got %d", len(together))
	}
}

func tenantsOf(tenants map[string]string) string {
	var b strings.Builder
	b.WriteString("  tenants:\n")
	for _, name := range sortedKeys(tenants) {
		fmt.Fprintf(&b, "    %s: {%s}\n", name, tenants[name])
	}
	return b.String()
}

// TestSizeIsPerObject: of two objects that share a shape, trainyard must report only the object that is too large.
func TestSizeIsPerObject(t *testing.T) {
	values := map[string]string{"large": strings.Repeat("x", 30_000), "small": "x"}
	for name, order := range map[string][]string{"the large one first": {"large", "small"}, "the small one first": {"small", "large"}} {
		t.Run(name, func(t *testing.T) {
			runtimes := map[string]string{}
			for i, size := range order {
				var env []string
				for n := range 20 {
					env = append(env, fmt.Sprintf("A%d: %s", n, values[size]))
				}
				runtimes[fmt.Sprintf("rt-%d-%s", i, size)] = "{from: mpich, image: a/b:1, env: {" + strings.Join(env, ", ") + "}}"
			}
			_, err := generator.New(trainyard.CUE).Generate(t.Context(), request(newDocument("sizes", runtimes)))
			var problems problem.List
			if !errors.As(err, &problems) || len(problems) != 1 || !strings.HasSuffix(problems[0].Path, "-large") {
				t.Errorf("Generate() = %v, want one problem about the large runtime", err)
			}
		})
	}
}

// TestSizeIncludesComponents checks that the size of an object includes all containers, and also values that are not
// parameters.
func TestSizeIncludesComponents(t *testing.T) {
	for name, tc := range map[string]struct {
		variables int
		problems  int
	}{"under the limit": {14, 0}, "over the limit": {17, 1}} {
		t.Run(name, func(t *testing.T) {
			env := []string{"Q: x"}
			for n := range tc.variables {
				env = append(env, fmt.Sprintf("A%d: '$(Q)%s'", n, strings.Repeat("x", 32_000)))
			}
			text := newDocument("sizes", map[string]string{"mpi": "{from: mpich, image: a/b:1, env: {" + strings.Join(env, ", ") + "}}"})
			_, err := generator.New(trainyard.CUE).Generate(t.Context(), request(text))
			var problems problem.List
			if errors.As(err, &problems); len(problems) != tc.problems || err != nil && tc.problems == 0 {
				t.Errorf("Generate() = %v, want %d problems", err, tc.problems)
			}
		})
	}
}

func randomRuntime(random *rand.Rand, i int) string {
	bases := []string{"openmpi-cpu", "openmpi-gpu", "intel-mpi"}
	base := bases[random.IntN(len(bases))]
	oversubscribed := false
	settings := []string{"from: " + base, fmt.Sprintf("image: quay.io/acme/rt:%d", i)}
	for _, name := range sortedKeys(settingValues) {
		if name == "numProcPerNode" && base != "openmpi-gpu" {
			continue // without GPUs, the number of processes depends on the number of CPUs
		}
		if name == "preflight" && oversubscribed || random.IntN(4) > 0 {
			continue
		}
		values := settingValues[name]
		settings = append(settings, name+": "+values[random.IntN(len(values))])
		if name == "numProcPerNode" { // a listed number of processes can be higher than the number of GPUs
			oversubscribed, settings = true, append(settings, "preflight: {oversubscribe: true}")
		}
	}
	return "{" + strings.Join(settings, ", ") + "}"
}

// newDocument returns a document with two tenants that list all runtimes. TestRuntimesShareShapes compares the objects
// of documents with different runtimes. The parameters of admission rules depend on all runtimes of a document, so
// these parameters would differ between the documents. Therefore newDocument disables the admission rules in each
// document.
func newDocument(name string, runtimes map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: %s}\nspec:\n  admission: {enforce: none}\n  runtimes:\n", name)
	for _, key := range sortedKeys(runtimes) {
		fmt.Fprintf(&b, "    %s: %s\n", key, runtimes[key])
	}
	list := strings.Join(sortedKeys(runtimes), ", ")
	return b.String() + tenantsOf(map[string]string{"team-a": "runtimes: [" + list + "]", "team-b": "runtimes: [" + list + "]"})
}

func byID(t *testing.T, text string) map[object.ID]any {
	t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), request(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	found := map[object.ID]any{}
	for o := range platforms[0].Objects.All() {
		found[o.ID()] = normal(t, o.Fields())
	}
	return found
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
