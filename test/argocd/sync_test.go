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
		fmt.Println("TRAINYARD_ARGOCD is not set: `make argocd` runs these tests") //nolint:forbidigo // t.Skip needs a running test
		os.Exit(0)
	}
	os.Exit(controlplane.Main(m))
}

var (
	quotaKind   = schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}
	spaceKind   = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	runtimeKind = schema.GroupVersionKind{Group: v1alpha1.TrainerGroup, Version: "v1alpha1", Kind: "ClusterTrainingRuntime"}
)

// TestArgoCDKeepsThePlatform checks that Argo CD applies a platform. After that, Argo CD must change nothing
// until Git changes. The only exception is that Argo CD reverts manual changes in the cluster. Argo CD deletes
// objects that are removed from Git, with two exceptions: namespaces stay, and runtimes are deleted only after a
// confirmation.
func TestArgoCDKeepsThePlatform(t *testing.T) {
	w := newWorld(t)
	w.awaitCondition(t, "the platform is applied", w.inSync(w.headCommit(t)))
	w.expectAllObjects(t)
	w.expectRest(t)
	w.expectHealing(t)
	w.expectTenantGoes(t)
	w.expectRuntimeStays(t)
}

// expectAllObjects checks that Argo CD tracks as many objects as the bundle contains, and that the Application reports no
// errors.
func (w *world) expectAllObjects(t *testing.T) {
	t.Helper()
	app, err := w.readApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(resources(app)), w.objectFiles(t, "prod"); got != want {
		t.Errorf("Argo CD has %d objects, and the bundle has %d objects", got, want)
	}
	if conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions"); len(conditions) > 0 {
		t.Errorf("the Application has conditions %v, want none", conditions)
	}
}

// expectRest makes Argo CD read Git again, and checks that Argo CD applies nothing.
func (w *world) expectRest(t *testing.T) {
	t.Helper()
	finished := func() string {
		app, err := w.readApplication(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "finishedAt")
		return at
	}
	before := finished()
	for range 3 {
		w.refresh(t)
		w.awaitCondition(t, "nothing differs", w.inSync(w.headCommit(t)))
	}
	if after := finished(); after != before {
		t.Errorf("Argo CD applied the platform again at %s, although nothing had changed since %s", after, before)
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
	edited := client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"hard": {"count/trainjobs.trainer.kubeflow.org": "100000"}}}`))
	if err := w.Client().Patch(t.Context(), quota, edited); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(t, "Argo CD reverts the edit of the quota", func(*unstructured.Unstructured) error {
		if err := w.Client().Get(t.Context(), key, quota); err != nil {
			return err
		}
		if jobs := quota.Spec.Hard["count/trainjobs.trainer.kubeflow.org"]; jobs.String() != "100" {
			return fmt.Errorf("%s TrainJobs", jobs.String())
		}
		return nil
	})
}

// expectTenantGoes removes a team from the document, and checks that Argo CD deletes the team's objects, except the
// namespace.
func (w *world) expectTenantGoes(t *testing.T) {
	t.Helper()
	w.layer(t, "removed.yaml", "spec: {tenants: {team-new: null}}\n")
	w.generate(t, "--remove", "tenant/team-new")
	w.push(t, "Let a team go")
	w.refresh(t)
	w.awaitCondition(t, "the team's objects are deleted", func(*unstructured.Unstructured) error {
		bindings := &rbacv1.RoleBindingList{}
		if err := w.Client().List(t.Context(), bindings, client.InNamespace("team-new")); err != nil || len(bindings.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d role bindings", len(bindings.Items)))
		}
		if w.hasObject(t.Context(), quotaKind, client.ObjectKey{Namespace: "team-new", Name: "trainyard"}) {
			return errors.New("the quota still exists")
		}
		return nil
	})
	w.awaitCondition(t, "the platform equals the commit in Git", w.inSync(w.headCommit(t)))
	if !w.hasObject(t.Context(), spaceKind, client.ObjectKey{Name: "team-new"}) {
		t.Error("the team's namespace was deleted, with all objects in it")
	}
}

// expectRuntimeStays removes a runtime from the document, and checks that Argo CD deletes the runtime only after a
// confirmation.
func (w *world) expectRuntimeStays(t *testing.T) {
	t.Helper()
	key := client.ObjectKey{Name: "mpi-deepspeed"}
	w.layer(t, "runtime.yaml", "spec: {runtimes: {mpi-deepspeed: null}, tenants: {team-speech: {runtimes: [mpi-horovod-gpu, mpi-openmpi-gpu-data]}}}\n")
	w.generate(t, "--remove", "runtime/mpi-deepspeed")
	w.push(t, "Let a runtime go")
	w.refresh(t)
	w.awaitCondition(t, "Argo CD waits for a confirmation before it deletes the runtime", func(app *unstructured.Unstructured) error {
		message, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "message")
		if !strings.HasPrefix(message, "Waiting for pruning confirmation") || !strings.HasSuffix(message, "/"+key.Name) {
			return fmt.Errorf("the message of the operation is %q", message)
		}
		return nil
	})
	time.Sleep(20 * time.Second) // long enough for Argo CD to delete a runtime that needs no confirmation
	if !w.hasObject(t.Context(), runtimeKind, key) {
		t.Fatal("the runtime was deleted without a confirmation")
	}
	w.annotate(t, "argocd.argoproj.io/deletion-approved", time.Now().UTC().Format(time.RFC3339))
	w.awaitCondition(t, "the runtime is deleted", func(*unstructured.Unstructured) error {
		if w.hasObject(t.Context(), runtimeKind, key) {
			return errors.New("the runtime still exists")
		}
		return nil
	})
	w.awaitCondition(t, "the platform equals the commit in Git", w.inSync(w.headCommit(t)))
}
