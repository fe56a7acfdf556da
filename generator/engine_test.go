package generator_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
)

// TestEnginesAgree: what several engines make together, of enough runtimes that several are
// used, is what one makes. The race detector looks at them in `make race`.
func TestEnginesAgree(t *testing.T) {
	bases := []string{"openmpi-cpu", "mpich", "intel-mpi", "horovod-cpu"}
	var b strings.Builder
	b.WriteString("apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: a}\nspec:\n  environments: {a: {}, b: {ceilings: {maxNodes: 7}}, c: {}, d: {}}\n  runtimes:\n")
	for i := range 80 { // in four environments: enough for two engines
		fmt.Fprintf(&b, "    r%d: {from: %s, image: \"a:%d\", nodeSelector: {kind: k%d}, env: {V%d: x}}\n", i, bases[i%len(bases)], i, i%3, i%5)
	}
	made := map[int][]generator.Platform{}
	for _, processors := range []int{1, 4} {
		before := runtime.GOMAXPROCS(processors)
		platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), request(b.String()))
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		made[processors] = platforms
	}
	for i := range made[1] {
		if diff := cmp.Diff(described(t, made[1][i]), described(t, made[4][i])); diff != "" {
			t.Errorf("-with one processor +with four:\n%s", diff)
		}
	}
}

// described is everything that anybody can learn of a platform. What a shape has for leaves is that of the object it was
// first composed for, which may be of another environment, and nobody's business.
func described(t *testing.T, p generator.Platform) map[string]any {
	t.Helper()
	delivery, err := json.Marshal(p.Delivery)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"name": p.Name, "environment": p.Environment, "parts": p.Parts, "notes": p.Notes, "delivery": string(delivery)}
	shapes := map[*object.Shape]int{}
	for o := range p.Objects.All() {
		shape, values := o.Shape()
		if _, known := shapes[shape]; !known {
			shapes[shape] = len(shapes)
		}
		all[o.ID().String()] = map[string]any{
			"fields": o.Fields(), "origin": o.Origin(), "parameters": o.Parameters(), "runtime": o.Label("trainyard.dev/runtime"),
			"shape": shapes[shape], "leaves": shape.Leaves(), "values": values,
		}
	}
	return all
}
