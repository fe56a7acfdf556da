package controlplane_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/test/controlplane"
)

// TestKeepRefusesWhatTheAPIServerRefuses: each part of a runtime is changed, added and taken
// away; generate refuses the change of exactly those that the API server does not let change.
func TestKeepRefusesWhatTheAPIServerRefuses(t *testing.T) {
	spec := []string{"spec", "template", "spec"}
	at := func(path ...string) []string { return append(spec[:len(spec):len(spec)], path...) }
	waits := func(names ...string) []any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"name": name, "status": "Complete"})
		}
		return list
	}
	cases := map[string]struct {
		path       []string
		one, other any
	}{
		"the network":                   {at("network"), map[string]any{"enableDNSHostnames": true}, map[string]any{"enableDNSHostnames": false}},
		"when a job succeeds":           {at("successPolicy"), map[string]any{"operator": "All"}, map[string]any{"operator": "Any"}},
		"what a failed job does":        {at("failurePolicy"), map[string]any{"maxRestarts": int64(0)}, map[string]any{"maxRestarts": int64(1)}},
		"the order of starting":         {at("startupPolicy"), map[string]any{"startupPolicyOrder": "AnyOrder"}, map[string]any{"startupPolicyOrder": "InOrder"}},
		"what the node waits for":       {at("replicatedJobs", "1", "dependsOn"), waits("launcher"), waits("launcher", "launcher")},
		"how long a finished job stays": {at("ttlSecondsAfterFinished"), int64(1), int64(2)},
		"labels of the runtime":         {[]string{"metadata", "labels", "x"}, "1", "2"},
		"the gang":                      {[]string{"spec", "podGroupPolicy"}, map[string]any{"coscheduling": map[string]any{"scheduleTimeoutSeconds": int64(1)}}, map[string]any{"coscheduling": map[string]any{"scheduleTimeoutSeconds": int64(2)}}},
	}
	onEveryVersion(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		for name, tc := range cases {
			without, one, other := variant(t, nil, tc.path), variant(t, tc.one, tc.path), variant(t, tc.other, tc.path)
			for step, pair := range map[string][2]*unstructured.Unstructured{
				"is changed": {one, other}, "is added": {without, one}, "is taken away": {one, without},
			} {
				t.Run(name+" "+step, func(t *testing.T) { expectSameVerdict(t, cp, pair[0], pair[1]) })
			}
		}
	})
}

// variant is the fixture with a value at a path, or none.
func variant(t *testing.T, value any, path []string) *unstructured.Unstructured {
	t.Helper()
	runtime := fixtureRuntime(t)
	runtime.SetName("variant")
	labels := runtime.GetLabels()
	labels["trainyard.dev/runtime"] = "variant"
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

// expectSameVerdict replaces one runtime by another, on the API server and in a bundle.
func expectSameVerdict(t *testing.T, cp *controlplane.ControlPlane, before, after *unstructured.Unstructured) {
	t.Helper()
	if err := cp.Client().DeleteAllOf(t.Context(), before.DeepCopy()); err != nil {
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
	var loss *bundles.LossError
	_, keep := bundles.Change{Old: bundles.Inventory(set(t, before)), New: bundles.Inventory(set(t, after))}.Keep()
	if refused := errors.As(keep, &loss); refused != (err != nil) {
		t.Errorf("generate refuses: %v; the API server says %v", refused, err)
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
