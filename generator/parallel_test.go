package generator_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
)

// TestParallelEvaluatorsAgree checks that generation with one and with four processors gives the same platforms. The
// test also runs with the race detector, in `make race`.
func TestParallelEvaluatorsAgree(t *testing.T) {
	bases := []string{"openmpi-cpu", "mpich", "intel-mpi", "horovod-cpu"}
	var b strings.Builder
	b.WriteString("apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: a}\nspec:\n  environments: {a: {}, b: {ceilings: {maxNodes: 7}}, c: {}, d: {}}\n  runtimes:\n")
	for i := range 80 { // so many runtimes that the pool of evaluators uses a second evaluator
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
		if diff := cmp.Diff(describePlatform(t, made[1][i]), describePlatform(t, made[4][i])); diff != "" {
			t.Errorf("-with one processor +with four:\n%s", diff)
		}
	}
}

// describePlatform returns the content of a platform, without the results of Shape.Fields. Objects of different
// environments can share a shape. If several objects share a shape, Shape.Fields returns the fields of one of these
// objects. This object can belong to another environment.
func describePlatform(t *testing.T, p generator.Platform) map[string]any {
	t.Helper()
	delivery, err := json.Marshal(p.Delivery)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"name": p.Name, "environment": p.Environment, "sections": p.Sections, "notes": p.Notes, "delivery": string(delivery)}
	shapes := map[*object.Shape]int{}
	for o := range p.Objects.All() {
		shape, values := o.Shape()
		if _, known := shapes[shape]; !known {
			shapes[shape] = len(shapes)
		}
		all[o.ID().String()] = map[string]any{
			"fields": o.Fields(), "origin": o.Origin(), "parameters": o.Parameters(), "runtime": o.Label(v1alpha1.RuntimeLabel),
			"shape": shapes[shape], "parameter paths": shape.Parameters(), "values": values,
		}
	}
	return all
}
