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

// TestOtherSpellingsOfQuantitiesConflictIn21: Trainer 2.1 spells the quantities of a runtime in
// its own way and then owns them, so that applying the same file again fails.
func TestOtherSpellingsOfQuantitiesConflictIn21(t *testing.T) {
	text, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "runtime.yaml")
	spelled := strings.ReplaceAll(string(text), "emptyDir: {}", "emptyDir: {sizeLimit: 1024Mi}")
	if err := os.WriteFile(file, []byte(spelled), 0o600); err != nil {
		t.Fatal(err)
	}
	whereJobsRun(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		objs := readObjects(t, file)
		use(t, cp, objs...)
		expectInUse(t, v, cp, objs[0])
		if v.finalizer == "" {
			expectSettled(t, cp, objs...)
			return
		}
		_, err := cp.ApplyAgain(t.Context(), objs...)
		if err == nil || !strings.Contains(err.Error(), `volumes[name="tmp"].emptyDir.sizeLimit`) {
			t.Errorf("ApplyAgain() = %v, want a conflict over the volume's sizeLimit", err)
		}
	})
}

// use applies runtimes, each in a namespace of its own, and TrainJobs of them until the test
// ends, and waits until Trainer has acted on these.
func use(t *testing.T, cp *controlplane.ControlPlane, runtimes ...client.Object) {
	t.Helper()
	for _, runtime := range runtimes {
		job := jobOf(runtime, "user", moved(t, cp, runtime)).Obj()
		known(t, cp, runtime)
		apply(t, cp, job)
		waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
	}
}

// expectInUse waits until Trainer has marked a runtime as used, if this version does that, and
// checks that it is otherwise as applied, or as Trainer's Go types have it.
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
	marked := throughTypes(t, applied)
	marked.SetFinalizers([]string{v.finalizer})
	expectNothingAdded(t, cp, marked)
}

// throughTypes is a runtime as a program writes it that has read it into its Go types: with
// empty objects for fields that are no pointers, and quantities in their canonical form.
func throughTypes(t *testing.T, obj client.Object) *unstructured.Unstructured {
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
