package controlplane_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
)

// TestRenderedIsAppliedWithoutDrift: the API server accepts every rendered object
// strictly, adds nothing to it, and has nothing to do when it is applied again.
func TestRenderedIsAppliedWithoutDrift(t *testing.T) {
	cp := controlplane.Start(t)
	for _, file := range renderings(t, rendered) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(file))), func(t *testing.T) {
			objs, err := controlplane.ReadObjects(file)
			if err != nil {
				t.Fatal(err)
			}
			apply(t, cp, objs...)
			for _, obj := range objs {
				expectNothingAdded(t, cp, obj)
			}
			changes, err := cp.ApplyAgain(t.Context(), objs...)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range changes {
				t.Errorf("a second apply changed %s", change)
			}
		})
	}
}

// TestKubectlSeesNoDifference: what a person does with a kustomization at a shell.
func TestKubectlSeesNoDifference(t *testing.T) {
	cp := controlplane.Start(t)
	for _, file := range renderings(t, "../../bundles/rendered/*/kustomize/kustomization.yaml") {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			for _, args := range [][]string{
				{"apply", "--server-side", "--validate=strict", "-k", dir},
				{"diff", "--server-side", "-k", dir}, // ends with 1 if it finds any
				{"delete", "-k", dir},
			} {
				cmd := exec.Command(cp.Tool("kubectl"), append(args, "--kubeconfig", cp.Kubeconfig())...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("kubectl %s: %v\n%s", args[0], err, out)
				}
			}
		})
	}
}

// renderings lists the files that match a pattern, of which there must be some.
func renderings(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	return files
}

// expectNothingAdded compares an object with what the API server has of it, but
// for what only a server can know.
func expectNothingAdded(t *testing.T, cp *controlplane.ControlPlane, applied client.Object) {
	t.Helper()
	want := applied.DeepCopyObject().(*unstructured.Unstructured)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(want.GroupVersionKind())
	if err := cp.Client().Get(t.Context(), client.ObjectKeyFromObject(want), live); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(live.Object, "metadata", field)
	}
	if diff := cmp.Diff(want.Object, live.Object); diff != "" {
		t.Errorf("the API server changed %s: -rendered +live:\n%s", want.GetName(), diff)
	}
}
