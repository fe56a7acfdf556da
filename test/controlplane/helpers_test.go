package controlplane_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
	return mpi && (u.GetKind() == trainer.ClusterTrainingRuntimeKind || u.GetKind() == trainer.TrainingRuntimeKind)
}

// mpiRuntimes are the MPI runtimes among objects.
func mpiRuntimes(objs []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(objs), func(obj client.Object) bool { return !isMPIRuntime(obj) })
}

// moved makes a namespace for the TrainJobs of a runtime and moves the runtime there, if it is
// namespaced.
func moved(t *testing.T, cp *controlplane.ControlPlane, runtime client.Object) string {
	t.Helper()
	namespace := cp.Namespace(t)
	if runtime.GetNamespace() != "" {
		runtime.SetNamespace(namespace)
	}
	return namespace
}

// jobOf starts a TrainJob of a runtime of either kind.
func jobOf(runtime client.Object, name, namespace string) *build.TrainJob {
	job := build.MakeTrainJob(name, namespace)
	if runtime.GetNamespace() != "" {
		return job.NamespacedRuntime(runtime.GetName())
	}
	return job.Runtime(runtime.GetName())
}

// apply applies objects until the test ends: examples have runtimes of the same name. It waits
// for the end of earlier ones, which finalizers may hold up. Namespaces stay, because nothing
// here would finish with them.
func apply(t *testing.T, cp *controlplane.ControlPlane, objs ...client.Object) {
	t.Helper()
	passing := slices.DeleteFunc(slices.Clone(objs), stays)
	for _, obj := range passing {
		awaitEnd(t, cp, obj)
	}
	if err := cp.Apply(t.Context(), objs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, obj := range passing {
			if err := cp.Client().Delete(context.Background(), obj); client.IgnoreNotFound(err) != nil {
				t.Errorf("cleaning up: %v", err)
			}
		}
	})
}

// stays tells what is there for good: Namespaces, and what says so itself.
func stays(obj client.Object) bool {
	return isNamespace(obj) || obj.GetLabels()["trainyard.dev/keep"] != ""
}

func isNamespace(obj client.Object) bool {
	return obj.GetObjectKind().GroupVersionKind().Kind == "Namespace"
}

// awaitEnd waits until an object that is being deleted is gone.
func awaitEnd(t *testing.T, cp *controlplane.ControlPlane, obj client.Object) {
	t.Helper()
	live := obj.DeepCopyObject().(client.Object)
	controlplane.Eventually(t, func(ctx context.Context) error {
		err := cp.Client().Get(ctx, client.ObjectKeyFromObject(obj), live)
		if err == nil && live.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is still there, with finalizers %v", obj.GetName(), live.GetFinalizers())
		}
		return client.IgnoreNotFound(err)
	})
}

// awaitKnown waits until Trainer knows a runtime: its webhook looks runtimes up in a cache.
func awaitKnown(t *testing.T, cp *controlplane.ControlPlane, runtime client.Object) {
	t.Helper()
	job := jobOf(runtime, "probe", cmp.Or(runtime.GetNamespace(), "default")).Obj()
	controlplane.Eventually(t, func(ctx context.Context) error {
		return cp.Client().Create(ctx, job.DeepCopy(), client.DryRunAll)
	})
}

// known applies a runtime and returns it as the server completed it, once Trainer knows it.
// Both kinds of runtime have the same fields.
func known(t *testing.T, cp *controlplane.ControlPlane, obj client.Object) *trainer.ClusterTrainingRuntime {
	t.Helper()
	apply(t, cp, obj)
	awaitKnown(t, cp, obj)
	live := obj.DeepCopyObject().(*unstructured.Unstructured)
	if err := cp.Client().Get(t.Context(), client.ObjectKeyFromObject(obj), live); err != nil {
		t.Fatal(err)
	}
	var completed trainer.ClusterTrainingRuntime
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &completed); err != nil {
		t.Fatal(err)
	}
	return &completed
}
