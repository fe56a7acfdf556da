package generator_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
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
