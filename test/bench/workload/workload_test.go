package workload

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
)

// smallWorkload is a workload with all 20 runtimes of workload W. Generating smallWorkload takes about a second.
var smallWorkload = Size{Runtimes: 20, Tenants: 2, Environments: 2}

func generate(t *testing.T, s Size, revision int) []generator.Platform {
	t.Helper()
	text, err := s.Document(revision)
	if err != nil {
		t.Fatal(err)
	}
	return generateFrom(t, text)
}

func generateFrom(t *testing.T, text []byte) []generator.Platform {
	t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{
		Layers: []generator.Input{{Name: "workload.yaml", Text: text}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return platforms
}

// expectedNotes lists the rules that the workload breaks on purpose. For example, the workload breaks the rule
// kueue-without-queues, because its tenants have no queues. The workload also breaks the rule unlimited-device, because
// its tenants have no quota for GPUs. If the workload followed the rules, trainyard would generate different objects.
// It would then be impossible to compare new measurements with earlier measurements.
var expectedNotes = []string{"kueue-without-queues", "unlimited-device", "setting-without-effect"}

func TestWorkloadDocument(t *testing.T) {
	platforms := generate(t, smallWorkload, 0)
	t.Run("has the number of objects of its size, and no unexpected notes", func(t *testing.T) {
		total := 0
		for _, p := range platforms {
			total += p.Objects.Len()
			for _, note := range p.Notes {
				if !slices.Contains(expectedNotes, note.Rule.Name) {
					t.Errorf("%s: the document has the note %v", p.Environment, note)
				}
			}
		}
		if total != smallWorkload.Objects() {
			t.Errorf("the document has %d objects, want %d", total, smallWorkload.Objects())
		}
	})
	t.Run("another revision changes one runtime in one environment", func(t *testing.T) {
		changed := 0
		for i, p := range generate(t, smallWorkload, 1) {
			old := texts(t, platforms[i])
			for id, text := range texts(t, p) {
				if old[id] != text {
					changed++
				}
			}
		}
		if changed != smallWorkload.Tenants {
			t.Errorf("%d objects changed, want %d", changed, smallWorkload.Tenants)
		}
	})
	t.Run("the resolved document has the objects of the environment", func(t *testing.T) {
		text, err := smallWorkload.Resolved(1, smallWorkload.Tenants)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(t, platforms[1]), texts(t, generateFrom(t, text)[0])); diff != "" {
			t.Errorf("objects: -environment +resolved:\n%s", diff)
		}
	})
}

// TestTypicalDocument checks that trainyard accepts the document of workload W2, and generates each kind of object that
// the workload is meant to contain.
func TestTypicalDocument(t *testing.T) {
	text, err := Size{Runtimes: 20, Tenants: 2}.TypicalDocument()
	if err != nil {
		t.Fatal(err)
	}
	kinds, configMaps := map[string]bool{}, map[string]bool{}
	for _, p := range generateFrom(t, text) {
		for o := range p.Objects.All() {
			kinds[o.ID().Kind] = true
			if o.ID().Kind == "ConfigMap" {
				configMaps[o.ID().Name] = true
			}
		}
	}
	for _, kind := range []string{
		"ClusterTrainingRuntime", "Namespace", "ResourceQuota", "LimitRange", "NetworkPolicy", "RoleBinding", "ValidatingAdmissionPolicy", "PrometheusRule",
	} {
		if !kinds[kind] {
			t.Errorf("the document has no %s", kind)
		}
	}
	// Some ConfigMaps are dashboards, and others contain the parameters of admission rules. Therefore the test looks
	// for the names of the dashboards.
	for _, dashboard := range []string{"trainyard-overview", "trainyard-tenant"} {
		if !configMaps[dashboard] {
			t.Errorf("the document has no Grafana dashboard %s, only the ConfigMaps %v", dashboard, slices.Sorted(maps.Keys(configMaps)))
		}
	}
}

func texts(t *testing.T, p generator.Platform) map[object.ID]string {
	t.Helper()
	found := map[object.ID]string{}
	for o := range p.Objects.All() {
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		found[o.ID()] = string(text)
	}
	return found
}

func TestWorkloadUsesEveryBase(t *testing.T) {
	entries, err := trainyard.CUE.ReadDir("runtimes")
	if err != nil {
		t.Fatal(err)
	}
	shipped := 0
	for _, e := range entries {
		text, err := trainyard.CUE.ReadFile("runtimes/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		name, ok := catalogueName(string(text))
		if !ok {
			continue
		}
		shipped++
		if !slices.Contains(catalogueNames, name) {
			t.Errorf("the workload has no runtime from %s", name)
		}
	}
	if shipped == 0 {
		t.Fatal("found no catalogue entries")
	}
}

func TestSizesFitTheSchema(t *testing.T) {
	for name, size := range Sizes() {
		text, err := size.Document(0)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 1<<20 || size.Runtimes > 64 || size.Tenants > 256 || size.Environments > 256 {
			t.Errorf("%s has %d bytes and size %+v, which exceeds the limits of documents", name, len(text), size)
		}
	}
}
