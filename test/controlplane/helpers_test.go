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

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// fixtureRuntime returns the runtime in testdata, for tests in which the runtime's details do not matter.
func fixtureRuntime(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	objs, err := controlplane.ReadObjects(fixture)
	if err != nil || len(objs) != 1 {
		t.Fatalf("reading %s: %d objects, %v", fixture, len(objs), err)
	}
	return objs[0].(*unstructured.Unstructured)
}

func changedRuntime(t *testing.T, value any, path ...string) client.Object {
	t.Helper()
	runtime := fixtureRuntime(t)
	runtime.SetName("changed")
	if err := unstructured.SetNestedField(runtime.Object, value, path...); err != nil {
		t.Fatal(err)
	}
	return runtime
}

func isMPIRuntime(obj client.Object) bool {
	u := obj.(*unstructured.Unstructured)
	_, mpi, _ := unstructured.NestedMap(u.Object, "spec", "mlPolicy", "mpi")
	return mpi && (u.GetKind() == trainer.ClusterTrainingRuntimeKind || u.GetKind() == trainer.TrainingRuntimeKind)
}

// jobNamespace creates a namespace for TrainJobs, and returns its name. If the given runtime is a
// TrainingRuntime, jobNamespace also sets the namespace of the runtime, because a TrainJob can use only
// TrainingRuntimes in its own namespace.
func jobNamespace(t *testing.T, cp *controlplane.ControlPlane, runtime client.Object) string {
	t.Helper()
	namespace := cp.Namespace(t)
	if runtime.GetNamespace() != "" {
		runtime.SetNamespace(namespace)
	}
	return namespace
}

func newJob(runtime client.Object, name, namespace string) *build.TrainJob {
	job := build.MakeTrainJob(name, namespace)
	if runtime.GetNamespace() != "" {
		return job.NamespacedRuntime(runtime.GetName())
	}
	return job.Runtime(runtime.GetName())
}

// apply creates or updates objects. When the test ends, apply deletes these objects, so that later tests can create
// objects with the same names. If an earlier object with the same name is still being deleted, apply first waits until
// this deletion is complete. apply does not delete Namespaces, because the control plane has no controller that
// completes their deletion. apply also does not delete objects with the label v1alpha1.KeepLabel.
func apply(t *testing.T, cp *controlplane.ControlPlane, objs ...client.Object) {
	t.Helper()
	temporary := slices.DeleteFunc(slices.Clone(objs), isKept)
	for _, obj := range temporary {
		awaitDeletion(t, cp, obj)
	}
	if err := cp.Apply(t.Context(), objs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, obj := range temporary {
			if err := cp.Client().Delete(context.Background(), obj); client.IgnoreNotFound(err) != nil {
				t.Errorf("cleaning up: %v", err)
			}
		}
	})
}

// isKept reports whether an object remains when its platform is deleted.
func isKept(obj client.Object) bool {
	return isNamespace(obj) || obj.GetLabels()[v1alpha1.KeepLabel] != ""
}

func isNamespace(obj client.Object) bool {
	return obj.GetObjectKind().GroupVersionKind().Kind == "Namespace"
}

// awaitDeletion waits until the deletion of an object is complete, or returns at once if the deletion has not begun.
func awaitDeletion(t *testing.T, cp *controlplane.ControlPlane, obj client.Object) {
	t.Helper()
	live := obj.DeepCopyObject().(client.Object)
	controlplane.Eventually(t, func(ctx context.Context) error {
		err := cp.Client().Get(ctx, client.ObjectKeyFromObject(obj), live)
		if err == nil && live.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s still exists, with finalizers %v", obj.GetName(), live.GetFinalizers())
		}
		return client.IgnoreNotFound(err)
	})
}

// awaitRuntime waits until a runtime is in the cache of Trainer's webhook.
func awaitRuntime(t *testing.T, cp *controlplane.ControlPlane, runtime client.Object) {
	t.Helper()
	job := newJob(runtime, "probe", cmp.Or(runtime.GetNamespace(), "default")).Obj()
	controlplane.Eventually(t, func(ctx context.Context) error {
		return cp.Client().Create(ctx, job.DeepCopy(), client.DryRunAll)
	})
}

// installRuntime applies a runtime, waits until Trainer can use it, and returns it with the server's defaults. The
// returned type can hold both ClusterTrainingRuntimes and TrainingRuntimes, because these kinds have the same fields.
func installRuntime(t *testing.T, cp *controlplane.ControlPlane, obj client.Object) *trainer.ClusterTrainingRuntime {
	t.Helper()
	apply(t, cp, obj)
	awaitRuntime(t, cp, obj)
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
