package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
)

// TestNonCanonicalQuantitiesConflictInTrainer21 documents a limitation of Trainer 2.1. Trainer 2.1 rewrites a runtime's
// quantities in canonical form, and becomes the owner of the rewritten fields. A second apply of the same file then
// fails, because it would change fields that Trainer owns.
func TestNonCanonicalQuantitiesConflictInTrainer21(t *testing.T) {
	text, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "runtime.yaml")
	changed := strings.ReplaceAll(string(text), "emptyDir: {}", "emptyDir: {sizeLimit: 1024Mi}")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	onVersionsWithControllers(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		objs := readObjects(t, file)
		useRuntimes(t, cp, objs...)
		expectInUse(t, v, cp, objs[0])
		if v.finalizer == "" {
			expectNoDrift(t, cp, objs...)
			return
		}
		_, err := cp.ApplyAgain(t.Context(), objs...)
		if err == nil || !strings.Contains(err.Error(), `volumes[name="tmp"].emptyDir.sizeLimit`) {
			t.Errorf("ApplyAgain() = %v, want a conflict over the volume's sizeLimit", err)
		}
	})
}

// useRuntimes applies each runtime, and creates a namespace with a TrainJob that uses the runtime. It waits
// until Trainer has processed the TrainJobs.
func useRuntimes(t *testing.T, cp *controlplane.ControlPlane, runtimes ...client.Object) {
	t.Helper()
	for _, runtime := range runtimes {
		job := newJob(runtime, "user", jobNamespace(t, cp, runtime)).Obj()
		installRuntime(t, cp, runtime)
		apply(t, cp, job)
		waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
	}
}

// expectInUse checks that Trainer makes no unexpected changes to a runtime that TrainJobs use. Some versions of Trainer
// add a finalizer to the runtime, and write the whole runtime for this purpose. With these versions, the runtime must
// have the finalizer. Apart from the finalizer, the runtime must equal the result of asTrainerWrites. Other versions of
// Trainer must not change the runtime.
func expectInUse(t *testing.T, v version, cp *controlplane.ControlPlane, applied client.Object) {
	t.Helper()
	if v.finalizer == "" {
		expectNothingAdded(t, cp, applied)
		return
	}
	controlplane.Eventually(t, func(ctx context.Context) error {
		live := applied.DeepCopyObject().(client.Object)
		if err := cp.Client().Get(ctx, client.ObjectKeyFromObject(applied), live); err != nil {
			return err
		}
		if diff := cmp.Diff([]string{v.finalizer}, live.GetFinalizers()); diff != "" {
			return fmt.Errorf("finalizers of %s: -want +got:\n%s", applied.GetName(), diff)
		}
		return nil
	})
	marked := asTrainerWrites(t, applied)
	marked.SetFinalizers([]string{v.finalizer})
	expectNothingAdded(t, cp, marked)
}

// asTrainerWrites returns a runtime as Trainer writes it: converted to Trainer's Go types and back. The result
// contains an empty object for each struct field that is not set and is not a pointer. The quantities in the
// result are canonical.
func asTrainerWrites(t *testing.T, obj client.Object) *unstructured.Unstructured {
	t.Helper()
	var typed trainer.ClusterTrainingRuntime
	converter := runtime.DefaultUnstructuredConverter
	if err := converter.FromUnstructured(obj.(*unstructured.Unstructured).Object, &typed); err != nil {
		t.Fatal(err)
	}
	fields, err := converter.ToUnstructured(&typed)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}
