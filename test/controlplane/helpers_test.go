package controlplane_test

import (
	"context"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// fixtureRuntime is the runtime that tests start from when they do not bring their own.
func fixtureRuntime(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	objs, err := controlplane.ReadObjects(fixture)
	if err != nil || len(objs) != 1 {
		t.Fatalf("reading %s: %d objects, %v", fixture, len(objs), err)
	}
	return objs[0].(*unstructured.Unstructured)
}

// changed is the fixture with one field set, under a name of its own.
func changed(t *testing.T, value any, path ...string) client.Object {
	t.Helper()
	runtime := fixtureRuntime(t)
	runtime.SetName("changed")
	if err := unstructured.SetNestedField(runtime.Object, value, path...); err != nil {
		t.Fatal(err)
	}
	return runtime
}

// isMPIRuntime tells the runtimes for MPI from everything else.
func isMPIRuntime(obj client.Object) bool {
	u := obj.(*unstructured.Unstructured)
	_, mpi, _ := unstructured.NestedMap(u.Object, "spec", "mlPolicy", "mpi")
	return u.GetKind() == trainer.ClusterTrainingRuntimeKind && mpi
}

// apply applies objects until the test ends: examples have runtimes of the same name.
func apply(t *testing.T, cp *controlplane.ControlPlane, objs ...client.Object) {
	t.Helper()
	if err := cp.Apply(t.Context(), objs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, obj := range objs {
			if err := cp.Client().Delete(context.Background(), obj); client.IgnoreNotFound(err) != nil {
				t.Errorf("cleaning up: %v", err)
			}
		}
	})
}

// known applies a runtime and returns it as the server completed it, once Trainer knows it:
// its webhook looks runtimes up in a cache.
func known(t *testing.T, cp *controlplane.ControlPlane, runtime client.Object) *trainer.ClusterTrainingRuntime {
	t.Helper()
	apply(t, cp, runtime)
	job := build.MakeTrainJob("probe", "default").Runtime(runtime.GetName()).Obj()
	controlplane.Eventually(t, func(ctx context.Context) error {
		return cp.Client().Create(ctx, job.DeepCopy(), client.DryRunAll)
	})
	var completed trainer.ClusterTrainingRuntime
	if err := cp.Client().Get(t.Context(), client.ObjectKeyFromObject(runtime), &completed); err != nil {
		t.Fatal(err)
	}
	return &completed
}
