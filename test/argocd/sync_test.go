package argocd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
)

func TestMain(m *testing.M) {
	if os.Getenv("TRAINYARD_ARGOCD") == "" {
		fmt.Println("TRAINYARD_ARGOCD is not set: `make argocd` runs these tests") //nolint:forbidigo // there is no test yet to say it
		os.Exit(0)
	}
	os.Exit(controlplane.Main(m))
}

var (
	quotaKind   = schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}
	spaceKind   = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	runtimeKind = schema.GroupVersionKind{Group: v1alpha1.TrainerGroup, Version: "v1alpha1", Kind: "ClusterTrainingRuntime"}
)

// TestArgoCDKeepsThePlatform follows a platform: Argo CD applies it, changes nothing afterwards, reverts manual changes, and deletes
// objects that leave Git, except namespaces. It deletes runtimes only after a confirmation.
func TestArgoCDKeepsThePlatform(t *testing.T) {
	w := newWorld(t)
	w.eventually(t, "the platform is applied", w.inSync(w.head(t)))
	w.expectAllObjects(t)
	w.expectRest(t)
	w.expectHealing(t)
	w.expectTenantGoes(t)
	w.expectRuntimeStays(t)
}

// expectAllObjects compares the objects that Argo CD tracks with the objects of the bundle.
func (w *world) expectAllObjects(t *testing.T) {
	t.Helper()
	app, err := w.application(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(resources(app)), w.objectFiles(t, "prod"); got != want {
		t.Errorf("Argo CD has %d objects, and the bundle %d", got, want)
	}
	if conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions"); len(conditions) > 0 {
		t.Errorf("Argo CD has something to say: %v", conditions)
	}
}

// expectRest refreshes, and checks that Argo CD changes nothing.
func (w *world) expectRest(t *testing.T) {
	t.Helper()
	finished := func() string {
		app, err := w.application(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "finishedAt")
		return at
	}
	before := finished()
	for range 3 {
		w.refresh(t)
		w.eventually(t, "nothing differs", w.inSync(w.head(t)))
	}
	if after := finished(); after != before {
		t.Errorf("Argo CD applied again at %s, after it had at %s and nothing had changed", after, before)
	}
}

// expectHealing edits an object, and checks that Argo CD reverts the edit.
func (w *world) expectHealing(t *testing.T) {
	t.Helper()
	quota := &corev1.ResourceQuota{}
	key := client.ObjectKey{Namespace: "team-new", Name: "trainyard"}
	if err := w.Client().Get(t.Context(), key, quota); err != nil {
		t.Fatal(err)
	}
	edited := client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"hard": {"pods": "100000"}}}`))
	if err := w.Client().Patch(t.Context(), quota, edited); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the quota is mended", func(*unstructured.Unstructured) error {
		if err := w.Client().Get(t.Context(), key, quota); err != nil {
			return err
		}
		if pods := quota.Spec.Hard[corev1.ResourcePods]; pods.String() != "100" {
			return fmt.Errorf("%s pods", pods.String())
		}
		return nil
	})
}

// expectTenantGoes removes a team, and checks that its namespace stays.
func (w *world) expectTenantGoes(t *testing.T) {
	t.Helper()
	w.layer(t, "removed.yaml", "spec: {tenants: {team-new: null}}\n")
	w.generate(t, "--remove", "tenant/team-new")
	w.push(t, "Let a team go")
	w.refresh(t)
	w.eventually(t, "what the team had is gone", func(*unstructured.Unstructured) error {
		bindings := &rbacv1.RoleBindingList{}
		if err := w.Client().List(t.Context(), bindings, client.InNamespace("team-new")); err != nil || len(bindings.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d role bindings", len(bindings.Items)))
		}
		if w.has(t.Context(), quotaKind, client.ObjectKey{Namespace: "team-new", Name: "trainyard"}) {
			return errors.New("the quota is there")
		}
		return nil
	})
	w.eventually(t, "the platform is what Git says", w.inSync(w.head(t)))
	if !w.has(t.Context(), spaceKind, client.ObjectKey{Name: "team-new"}) {
		t.Error("the team's namespace is gone, and all that it had in there")
	}
}

// expectRuntimeStays removes a runtime, and checks that Argo CD deletes it only after a confirmation.
func (w *world) expectRuntimeStays(t *testing.T) {
	t.Helper()
	key := client.ObjectKey{Name: "mpi-deepspeed"}
	w.layer(t, "runtime.yaml", "spec: {runtimes: {mpi-deepspeed: null}, tenants: {team-speech: {runtimes: [mpi-horovod-gpu, mpi-openmpi-gpu-data]}}}\n")
	w.generate(t, "--remove", "runtime/mpi-deepspeed")
	w.push(t, "Let a runtime go")
	w.refresh(t)
	w.eventually(t, "Argo CD asks before it takes the runtime away", func(app *unstructured.Unstructured) error {
		message, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "message")
		if !strings.HasPrefix(message, "Waiting for pruning confirmation") || !strings.HasSuffix(message, "/"+key.Name) {
			return fmt.Errorf("it says %q", message)
		}
		return nil
	})
	time.Sleep(20 * time.Second) // long enough for it to do it all the same
	if !w.has(t.Context(), runtimeKind, key) {
		t.Fatal("the runtime is gone, and nobody was asked")
	}
	w.annotate(t, "argocd.argoproj.io/deletion-approved", time.Now().UTC().Format(time.RFC3339))
	w.eventually(t, "the runtime goes", func(*unstructured.Unstructured) error {
		if w.has(t.Context(), runtimeKind, key) {
			return errors.New("it is there")
		}
		return nil
	})
	w.eventually(t, "the platform is what Git says", w.inSync(w.head(t)))
}
