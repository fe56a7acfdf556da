package controlplane_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
)

// TestRenderedObjectsAreAppliedWithoutDrift checks that the API server accepts every field of every object in
// bundles/rendered, and adds no fields.
func TestRenderedObjectsAreAppliedWithoutDrift(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		for name, file := range findRenderings(t, "manifests.yaml") {
			t.Run(name, func(t *testing.T) { expectApplied(t, cp, readObjects(t, file)) })
		}
	})
}

func TestKubectlDiffIsEmpty(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		for _, file := range findRenderings(t, "manifests.yaml") {
			createNamespaces(t, cp, readObjects(t, file)) // manifests.yaml contains the same objects as the kustomization
		}
		for name, file := range findRenderings(t, "kustomization.yaml") {
			t.Run(name, func(t *testing.T) {
				dir := filepath.Dir(file)
				kubectl(t, cp, "apply", "--server-side", "--validate=strict", "-k", dir)
				kubectl(t, cp, "diff", "--server-side", "-k", dir) // exits with 1 if there is a difference
				// kubectl need not wait for the deletion, because no object has a finalizer. Waiting would make
				// the test slow, because kubectl queries only five objects per second.
				kubectl(t, cp, "delete", "--wait=false", "-k", dir, "-l", "!trainyard.dev/keep")
			})
		}
	})
}

func kubectl(t *testing.T, cp *controlplane.ControlPlane, args ...string) {
	t.Helper()
	cmd := exec.Command(cp.Tool("kubectl"), append(args, "--kubeconfig", cp.Kubeconfig())...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", args[0], err, out)
	}
}

// findRenderings finds all files with the given name below bundles/rendered. The returned map has one entry for each
// file. The key is the folder of the file, relative to bundles/rendered, and the value is the path of the file. The key
// has the form EXAMPLE/FORMAT, or EXAMPLE/FORMAT/ENVIRONMENT if the example has environments.
func findRenderings(t *testing.T, name string) map[string]string {
	t.Helper()
	const root = "../../bundles/rendered"
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, _ fs.DirEntry, err error) error {
		if path.Base(file) == name {
			files[path.Dir(file)] = filepath.Join(root, file)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("finding every %s: %d found: %v", name, len(files), err)
	}
	return files
}

func readObjects(t *testing.T, file string) []client.Object {
	t.Helper()
	objs, err := controlplane.ReadObjects(file)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// kueueLabel is the label that namespaces must have for Red Hat's build of Kueue.
const kueueLabel = "kueue.openshift.io/managed"

func createNamespaces(t *testing.T, cp *controlplane.ControlPlane, objs []client.Object) {
	t.Helper()
	for _, obj := range objs {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: obj.GetNamespace(), Labels: map[string]string{kueueLabel: "true"}}}
		if slices.ContainsFunc(objs, func(o client.Object) bool { return isNamespace(o) && o.GetName() == namespace.Name }) {
			namespace.Labels = nil // the platform's own Namespace object sets the labels
		}
		if namespace.Name == "" {
			continue
		}
		if err := cp.Client().Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

func expectNoDrift(t *testing.T, cp *controlplane.ControlPlane, objs ...client.Object) {
	t.Helper()
	changes, err := cp.ApplyAgain(t.Context(), objs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		t.Errorf("a second apply changed %s", change)
	}
}

// expectNothingAdded checks that the server's copy of an object equals the applied object, except for the fields that
// only the server sets.
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
	if isNamespace(live) { // the server always adds fields to Namespaces
		unstructured.RemoveNestedField(live.Object, "metadata", "labels", corev1.LabelMetadataName)
		unstructured.RemoveNestedField(live.Object, "spec")
		unstructured.RemoveNestedField(live.Object, "status")
	}
	if _, set, _ := unstructured.NestedString(want.Object, "spec", "stopPolicy"); !set && strings.HasSuffix(live.GetKind(), "Queue") {
		// Accept one additional field: the API server sets stopPolicy to its default value if the
		// applied object does not set stopPolicy.
		unstructured.RemoveNestedField(live.Object, "spec", "stopPolicy")
	}
	// The API server adds an empty status to objects of some kinds. If another test runs Kubernetes' type checker,
	// the status of an admission policy contains the observed generation, and the results of the type checker.
	// Remove the observed generation, and remove the results if they contain no warnings. Then remove the status if
	// it is empty.
	if live.GetKind() == "ValidatingAdmissionPolicy" {
		unstructured.RemoveNestedField(live.Object, "status", "observedGeneration")
		if checked, _, _ := unstructured.NestedMap(live.Object, "status", "typeChecking"); len(checked) == 0 {
			unstructured.RemoveNestedField(live.Object, "status", "typeChecking")
		}
	}
	if status, ok := live.Object["status"].(map[string]any); ok && len(status) == 0 {
		delete(live.Object, "status")
	}
	if diff := cmp.Diff(want.Object, live.Object); diff != "" {
		t.Errorf("the API server changed %s: -rendered +live:\n%s", want.GetName(), diff)
	}
}
