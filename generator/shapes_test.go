package generator_test

import (
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
)

// choices are what a random runtime is put together from: for each setting,
// values of which one is taken, or none.
var choices = map[string][]string{
	"numNodes":               {"1", "3", "8"},
	"numProcPerNode":         {"2", "4"},
	"runLauncherAsNode":      {"true", "false"},
	"resources":              {"{cpu: 2}", "{cpu: 500m, memory: 3Gi}", "{memory: 1024Mi, nvidia.com/gpu: 2}", "{nvidia.com/mig-1g.5gb: 3}"},
	"launcher":               {"{resources: {cpu: 3}}", "{resources: {memory: 5Gi}}"},
	"sharedMemory":           {"1Gi", "2048Mi"},
	"imagePullPolicy":        {"Always", "Never"},
	"imagePullSecrets":       {"[a]", "[a, b]"},
	"env":                    {`{A: "1"}`, `{A: "2"}`, `{A: "$(B)", B: x}`},
	"user":                   {"1000", "2000"},
	"interface":              {"eth0", "net1"},
	"readOnlyRootFilesystem": {"true"},
	"preflight":              {"{timeout: 5m}", "{oversubscribe: true}"},
	"storage":                {"{d: {claim: c}}", "{d: {claim: c, path: /d, readOnly: true}, e: {s3: x}}"},
	"nodeSelector":           {"{a: b}"},
	"tolerations":            {"[{operator: Exists}]"},
	"annotations":            {"{a.b/c: d}"},
	"gang":                   {"{priorityClass: high}"},
	"scope":                  {"namespace", "cluster"},
}

// TestShapesAreSound: an object that is filled into a shape composed for another runtime is the
// object that the document makes of its runtime alone.
func TestShapesAreSound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	runtimes := map[string]string{}
	for i := range 40 {
		runtimes[fmt.Sprintf("rt-%d", i)] = randomRuntime(random, i)
	}
	together := byID(t, document("together", runtimes))
	alone := map[object.ID]any{}
	for name, runtime := range runtimes {
		for id, fields := range byID(t, document("together", map[string]string{name: runtime})) {
			alone[id] = fields
		}
	}
	if diff := cmp.Diff(alone, together); diff != "" {
		t.Errorf("-alone +together:\n%s", diff)
	}
	if len(together) < 40 {
		t.Errorf("made %d objects, want one for each runtime at least", len(together))
	}
}

// randomRuntime differs from others in an image, and in some settings or in none.
func randomRuntime(random *rand.Rand, i int) string {
	bases := []string{"openmpi-cpu", "openmpi-gpu", "intel-mpi"}
	settings := []string{"from: " + bases[random.IntN(len(bases))], fmt.Sprintf("image: quay.io/acme/rt:%d", i)}
	for _, name := range sortedKeys(choices) {
		if random.IntN(4) == 0 {
			values := choices[name]
			settings = append(settings, name+": "+values[random.IntN(len(values))])
		}
	}
	return "{" + strings.Join(settings, ", ") + "}"
}

func document(name string, runtimes map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: %s}\nspec:\n  runtimes:\n", name)
	for _, key := range sortedKeys(runtimes) {
		fmt.Fprintf(&b, "    %s: %s\n", key, runtimes[key])
	}
	list := strings.Join(sortedKeys(runtimes), ", ")
	fmt.Fprintf(&b, "  tenants: {team-a: {runtimes: [%s]}, team-b: {runtimes: [%s]}}\n", list, list)
	return b.String()
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
