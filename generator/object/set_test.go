package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

func made(t *testing.T, apiVersion, kind, namespace, name string) Object {
	t.Helper()
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o, err := New(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}, Origin{Input: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSetIsOrdered(t *testing.T) {
	a := made(t, v1alpha1.TrainerAPIVersion, "ClusterTrainingRuntime", "", "a")
	b := made(t, v1alpha1.TrainerAPIVersion, "ClusterTrainingRuntime", "", "b")
	n := made(t, "v1", "Namespace", "", "z")
	q := made(t, "v1", "ResourceQuota", "z", "q")
	r := made(t, "rbac.authorization.k8s.io/v1", "RoleBinding", "z", "r")
	c := made(t, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "c")
	want := []string{
		"Namespace z", "ResourceQuota z/q", "ClusterTrainingRuntime a", "ClusterTrainingRuntime b", "ClusterRoleBinding c", "RoleBinding z/r",
	}
	for _, objects := range [][]Object{{a, b, c, n, q, r}, {r, c, q, n, b, a}, {b, r, q, a, n, c}} {
		set, err := NewSet(objects...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for o := range set.All() {
			got = append(got, o.ID().String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if set.Len() != len(want) {
			t.Errorf("Len() = %d, want %d", set.Len(), len(want))
		}
	}
}

func TestSetRefusesTwins(t *testing.T) {
	v1 := made(t, "example.com/v1", "Thing", "", "a")
	v2 := made(t, "example.com/v2", "Thing", "", "a")
	if _, err := NewSet(v1, v2); err == nil {
		t.Error("NewSet() accepts the same object in two versions, want an error")
	}
}

func TestObjectsCannotBeChanged(t *testing.T) {
	fields := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "list": []any{int64(1)}}
	o, err := New(fields, Origin{}, []Parameter{{Key: "k"}})
	if err != nil {
		t.Fatal(err)
	}
	fields["list"].([]any)[0] = int64(2)
	o.Fields()["list"].([]any)[0] = int64(3)
	o.Parameters()[0].Key = "changed"
	if got := o.Fields()["list"].([]any)[0]; got != int64(1) {
		t.Errorf("list[0] = %v, want 1", got)
	}
	if got := o.Parameters()[0].Key; got != "k" {
		t.Errorf("parameter key = %q, want k", got)
	}
}

func TestNewWantsAnIdentity(t *testing.T) {
	cases := map[string]map[string]any{
		"nothing":         {},
		"no name":         {"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{}},
		"no kind":         {"apiVersion": "v1", "metadata": map[string]any{"name": "a"}},
		"a bad version":   {"apiVersion": "a/b/c", "kind": "Thing", "metadata": map[string]any{"name": "a"}},
		"name is no text": {"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": int64(1)}},
	}
	for name, fields := range cases {
		t.Run(name, func(t *testing.T) {
			if o, err := New(fields, Origin{}, nil); err == nil {
				t.Errorf("New() = %v, want an error", o.ID())
			}
		})
	}
}
