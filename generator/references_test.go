package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/object"
)

// TestReferencesOfSharedShapes calls podReferences with two objects of the same shape. The objects differ in only
// one value: the namespace, the name of the claim, or the volume that contains the claim's name. For each object,
// podReferences must return the claim of this object.
func TestReferencesOfSharedShapes(t *testing.T) {
	volume := func(claim string) map[string]any {
		return map[string]any{"persistentVolumeClaim": map[string]any{"claimName": claim}}
	}
	for name, test := range map[string]struct {
		path   []any
		values [2]any
		want   [2]string
	}{
		"the namespace": {[]any{"metadata", "namespace"}, [2]any{"team-a", "team-b"}, [2]string{"data", "data"}},
		"the claim":     {[]any{"spec", "volumes", 0, "persistentVolumeClaim", "claimName"}, [2]any{"data", "more"}, [2]string{"data", "more"}},
		"the volume":    {[]any{"spec", "volumes", 0}, [2]any{volume("data"), volume("more")}, [2]string{"data", "more"}},
	} {
		t.Run(name, func(t *testing.T) {
			shape := object.NewShape(map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "namespace": "team-a"},
				"spec": map[string]any{"volumes": []any{volume("data")}},
			}, [][]any{test.path})
			for i, value := range test.values {
				o, err := object.Make(shape, []any{value}, object.Origin{}, "", nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"PersistentVolumeClaim " + test.want[i]}, podReferences(o)); diff != "" {
					t.Errorf("object %d: -want +got:\n%s", i, diff)
				}
			}
		})
	}
}
