package controlplane_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/test/controlplane"
)

// TestImmutableFieldsMatchTheAPIServer changes, adds and removes fields of a runtime. `trainyard generate` must
// refuse exactly the changes that the API server refuses.
func TestImmutableFieldsMatchTheAPIServer(t *testing.T) {
	spec := []string{"spec", "template", "spec"}
	at := func(path ...string) []string { return append(spec[:len(spec):len(spec)], path...) }
	dependsOn := func(names ...string) []any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"name": name, "status": "Complete"})
		}
		return list
	}
	cases := map[string]struct {
		path          []string
		first, second any
	}{
		"the network":                        {at("network"), map[string]any{"enableDNSHostnames": true}, map[string]any{"enableDNSHostnames": false}},
		"the success policy":                 {at("successPolicy"), map[string]any{"operator": "All"}, map[string]any{"operator": "Any"}},
		"the failure policy":                 {at("failurePolicy"), map[string]any{"maxRestarts": int64(0)}, map[string]any{"maxRestarts": int64(1)}},
		"the startup policy":                 {at("startupPolicy"), map[string]any{"startupPolicyOrder": "AnyOrder"}, map[string]any{"startupPolicyOrder": "InOrder"}},
		"the dependencies of the node":       {at("replicatedJobs", "1", "dependsOn"), dependsOn("launcher"), dependsOn("launcher", "launcher")},
		"the time to live of a finished job": {at("ttlSecondsAfterFinished"), int64(1), int64(2)},
		"a label of the runtime":             {[]string{"metadata", "labels", "x"}, "1", "2"},
		"the gang policy":                    {[]string{"spec", "podGroupPolicy"}, map[string]any{"coscheduling": map[string]any{"scheduleTimeoutSeconds": int64(1)}}, map[string]any{"coscheduling": map[string]any{"scheduleTimeoutSeconds": int64(2)}}},
	}
	onEveryVersion(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		for name, tc := range cases {
			without, first, second := runtimeVariant(t, nil, tc.path), runtimeVariant(t, tc.first, tc.path), runtimeVariant(t, tc.second, tc.path)
			for step, pair := range map[string][2]*unstructured.Unstructured{
				"is changed": {first, second}, "is added": {without, first}, "is removed": {first, without},
			} {
				t.Run(name+" "+step, func(t *testing.T) { expectSameDecision(t, cp, pair[0], pair[1]) })
			}
		}
	})
}

// TestLocalQueuesKeepTheirClusterQueue changes a LocalQueue. `trainyard generate` must refuse exactly the changes that
// the API server refuses.
func TestLocalQueuesKeepTheirClusterQueue(t *testing.T) {
	cp := controlplane.Start(t)
	namespace := cp.Namespace(t)
	queue := func(clusterQueue, stopPolicy string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": map[string]any{"name": "default", "namespace": namespace},
			"spec": map[string]any{"clusterQueue": clusterQueue, "stopPolicy": stopPolicy},
		}}
	}
	t.Run("another ClusterQueue", func(t *testing.T) { expectSameDecision(t, cp, queue("research", "None"), queue("products", "None")) })
	t.Run("another stop policy", func(t *testing.T) { expectSameDecision(t, cp, queue("research", "None"), queue("research", "Hold")) })
}

// runtimeVariant returns the runtime from testdata with the given value in the field at the given path. If the value is
// nil, runtimeVariant removes the field.
func runtimeVariant(t *testing.T, value any, path []string) *unstructured.Unstructured {
	t.Helper()
	runtime := fixtureRuntime(t)
	runtime.SetName("variant")
	labels := runtime.GetLabels()
	labels[v1alpha1.RuntimeLabel] = "variant"
	runtime.SetLabels(labels)
	parent, last := any(runtime.Object), path[len(path)-1]
	for _, key := range path[:len(path)-1] {
		if list, ok := parent.([]any); ok {
			parent = list[key[0]-'0']
			continue
		}
		parent = parent.(map[string]any)[key]
	}
	if value == nil {
		delete(parent.(map[string]any), last)
	} else {
		parent.(map[string]any)[last] = value
	}
	return runtime
}

// expectSameDecision replaces an object on the API server and in a bundle. The API server and `trainyard generate` must
// both accept or both refuse the replacement.
func expectSameDecision(t *testing.T, cp *controlplane.ControlPlane, before, after *unstructured.Unstructured) {
	t.Helper()
	if err := cp.Client().DeleteAllOf(t.Context(), before.DeepCopy(), client.InNamespace(before.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	live := before.DeepCopy()
	if err := cp.Client().Create(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	update := after.DeepCopy()
	update.SetResourceVersion(live.GetResourceVersion())
	err := cp.Client().Update(t.Context(), update, client.DryRunAll)
	if err != nil && !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
	var loss *bundles.RemovalError
	_, keep := bundles.Change{Old: bundles.Inventory(set(t, before)), New: bundles.Inventory(set(t, after))}.Check()
	if refused := errors.As(keep, &loss); refused != (err != nil) {
		t.Errorf("generate refuses the change: %v; the API server returns %v", refused, err)
	}
}

func set(t *testing.T, runtime *unstructured.Unstructured) object.Set {
	t.Helper()
	o, err := object.New(runtime.Object, object.Origin{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := object.NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
