package controlplane_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/test/controlplane"
)

// gangLayers lists layers that replace Kueue by another gang scheduler. TestEveryTargetIsApplied merges three layers.
// The first layer is the file platform.yaml of an example. The second layer selects a Trainer version and Kueue. The
// third layer is an entry of gangLayers. If the entry is empty, the test merges only the first two layers, so Kueue
// remains selected.
var gangLayers = []string{"", "volcano.yaml", "coscheduling.yaml"}

// expectedRefusals lists the combinations of an example and a gang layer that `trainyard generate` must refuse. Each
// entry contains a part of the expected error message, and a layer that fixes the error. The examples acme and vanilla
// contain runtimes with initializers. The PodGroups of Volcano and of the coscheduling plugin do not support
// initializers. Therefore the command must refuse acme and vanilla if the gang layer is volcano.yaml or
// coscheduling.yaml.
var expectedRefusals = map[string]struct{ message, fix string }{
	"vanilla/volcano.yaml":      {"mpi-horovod-cpu.initializers.dataset: not allowed with target.gang volcano", noInitializers("mpi-horovod-cpu")},
	"vanilla/coscheduling.yaml": {"mpi-horovod-cpu.initializers.dataset: not allowed with target.gang coscheduling", noInitializers("mpi-horovod-cpu")},
	"acme/volcano.yaml":         {"mpi-openmpi-gpu-data.initializers.model: not allowed with target.gang volcano", noInitializers("mpi-openmpi-gpu-data")},
	"acme/coscheduling.yaml":    {"mpi-openmpi-gpu-data.initializers.model: not allowed with target.gang coscheduling", noInitializers("mpi-openmpi-gpu-data")},
}

func noInitializers(runtime string) string {
	return "spec: {runtimes: {" + runtime + ": {initializers: null}}}"
}

// TestEveryTargetIsApplied generates each example in each environment for each version of Trainer and each gang
// scheduler. The API server must accept every field and change nothing.
func TestEveryTargetIsApplied(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		for _, example := range exampleNames(t) {
			for _, gang := range gangLayers {
				t.Run(filepath.Join(example, gang), func(t *testing.T) {
					for environment, objs := range generateExample(t, example, v, gang) {
						t.Run(environment, func(t *testing.T) { expectApplied(t, cp, objs) })
					}
				})
			}
		}
	})
}

func expectApplied(t *testing.T, cp *controlplane.ControlPlane, objs []client.Object) {
	t.Helper()
	if len(objs) == 0 {
		t.Fatal("nothing was generated")
	}
	createNamespaces(t, cp, objs)
	apply(t, cp, objs...)
	for _, obj := range objs {
		expectNothingAdded(t, cp, obj)
	}
	expectNoDrift(t, cp, objs...)
}

func exampleNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/platform.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %d examples, %v, want 3 at least", len(files), err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

// generateExample returns the objects of an example. The keys are the names of the environments. If expectedRefusals
// contains the combination of the example and the gang layer, the generation must fail with the expected error.
// generateExample then adds the layer that fixes the error, and generates the objects again.
func generateExample(t *testing.T, example string, v version, gang string) map[string][]client.Object {
	t.Helper()
	layers := []generator.Input{layer(t, example+"/platform.yaml"), layer(t, "layers/"+v.trainer+".yaml")}
	if gang != "" {
		layers = append(layers, layer(t, "layers/"+gang))
	}
	pipeline := generator.New(trainyard.CUE)
	platforms, err := pipeline.Generate(t.Context(), generator.Request{Layers: layers})
	if refusal, ok := expectedRefusals[example+"/"+gang]; ok {
		var problems problem.List
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), refusal.message) {
			t.Fatalf("generate returns %v, want an error with %s", err, refusal.message)
		}
		layers = append(layers, generator.Input{Name: "fix.yaml", Text: []byte(refusal.fix)})
		platforms, err = pipeline.Generate(t.Context(), generator.Request{Layers: layers})
	}
	if err != nil {
		t.Fatal(err)
	}
	return byEnvironment(platforms)
}

func generateWithLayers(t *testing.T, example string, v version, layers ...generator.Input) map[string][]client.Object {
	t.Helper()
	all := append([]generator.Input{layer(t, example+"/platform.yaml"), layer(t, "layers/"+v.trainer+".yaml")}, layers...)
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: all})
	if err != nil {
		t.Fatal(err)
	}
	return byEnvironment(platforms)
}

func byEnvironment(platforms []generator.Platform) map[string][]client.Object {
	sets := map[string][]client.Object{}
	for _, p := range platforms {
		for o := range p.Objects.All() {
			sets[p.Environment] = append(sets[p.Environment], &unstructured.Unstructured{Object: o.Fields()})
		}
	}
	return sets
}

func layer(t *testing.T, file string) generator.Input {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples", file))
	if err != nil {
		t.Fatal(err)
	}
	return generator.Input{Name: file, Text: text}
}
