package shape_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator/compose"
	"github.com/trainyard/trainyard/generator/compose/shape"
	"github.com/trainyard/trainyard/generator/evaluate"
)

// TestComponentsAreBuiltOnce: runtimes with different bases must share a component if they have the same values in
// all fields that the component reads.
func TestComponentsAreBuiltOnce(t *testing.T) {
	e, err := evaluate.New(trainyard.CUE)
	if err != nil {
		t.Fatal(err)
	}
	plans, problems := planDocument(t, e, listingDocument("{}", map[string]string{
		"a": "{from: mpich, image: a/b:1}",
		"b": "{from: openmpi-cpu, image: a/b:2, nodeSelector: {a: b}}",
		"c": "{from: openmpi-cpu, image: a/b:3, user: 7, env: {A: x}}",
	}), []string{"dev"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	components := shape.NewComponents()
	for _, group := range cacheGroups(plans) {
		composer := shape.NewComposer(e, components)
		for _, r := range group {
			if _, err := compose.Request(composer, r.plan, r.Request); err != nil {
				t.Error(err)
			}
		}
	}
	want := map[string]int{
		"runtime": 3, "mpirun": 1, "sshd": 1, "launcherIdentity": 1, "nodeIdentity": 1,
		"preflight":   2, // one for each base
		"launcherEnv": 3, "nodeEnv": 2,
	}
	if diff := cmp.Diff(want, components.Built()); diff != "" {
		t.Errorf("components: -want +got:\n%s", diff)
	}
}
