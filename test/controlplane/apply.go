package controlplane

import (
	"context"
	"fmt"
	"os"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/upstream"
)

// fieldManager owns the fields that tests apply.
const fieldManager = "trainyard-test"

// Apply applies objects one after the other with server-side apply, as GitOps tools do. Apply fails for unknown fields,
// and for fields that another manager owns. Apply does not modify the given objects.
func (cp *ControlPlane) Apply(ctx context.Context, objs ...client.Object) error {
	for _, obj := range objs {
		if _, err := cp.apply(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// ApplyAgain applies objects that were applied before. For each object that changes, ApplyAgain returns the
// difference. A second apply must not change the objects of a correct bundle.
func (cp *ControlPlane) ApplyAgain(ctx context.Context, objs ...client.Object) ([]string, error) {
	var changes []string
	for _, obj := range objs {
		before, err := cp.withoutServerFields(obj)
		if err != nil {
			return nil, err
		}
		if err := cp.client.Get(ctx, client.ObjectKeyFromObject(obj), before); err != nil {
			return nil, fmt.Errorf("getting %s: %w", describe(before), err)
		}
		after, err := cp.apply(ctx, obj)
		if err != nil {
			return nil, err
		}
		if diff := cmp.Diff(before.Object, after.Object); diff != "" {
			changes = append(changes, describe(after)+": -first +second:\n"+diff)
		}
	}
	return changes, nil
}

// apply applies one object, and returns the server's result. Server-side apply always rejects
// unknown fields, so apply needs no option for strict validation.
func (cp *ControlPlane) apply(ctx context.Context, obj client.Object) (*unstructured.Unstructured, error) {
	u, err := cp.withoutServerFields(obj)
	if err != nil {
		return nil, err
	}
	if err := cp.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fieldManager)); err != nil {
		return nil, fmt.Errorf("applying %s: %w", describe(u), err)
	}
	return u, nil
}

// withoutServerFields converts an object to an unstructured object, without the fields that only the server sets. If
// the object is already unstructured, the result is a copy with all fields.
func (cp *ControlPlane) withoutServerFields(obj client.Object) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy(), nil
	}
	gvk, err := apiutil.GVKForObject(obj, cp.client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T: %w", obj, err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(fields, "status")
	for _, field := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(fields, "metadata", field)
	}
	return u, nil
}

func describe(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", u.GetKind(), client.ObjectKeyFromObject(u))
}

// ReadObjects reads all objects of YAML files, in order.
func ReadObjects(paths ...string) ([]client.Object, error) {
	var objs []client.Object
	for _, path := range paths {
		stream, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading objects: %w", err)
		}
		err = upstream.EachDocument(stream, func(document []byte) error {
			text, err := yaml.YAMLToJSONStrict(document)
			if err != nil || string(text) == "null" {
				return err
			}
			obj := &unstructured.Unstructured{}
			objs = append(objs, obj)
			return obj.UnmarshalJSON(text) // preserves integers, unlike decoding into a map
		})
		if err != nil {
			return nil, fmt.Errorf("reading objects of %s: %w", path, err)
		}
	}
	return objs, nil
}
