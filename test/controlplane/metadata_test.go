package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/test/controlplane"
)

// These patches change the metadata of a TrainJob. Tenants may set labels and owners, but no finalizers and no
// controlling owners (owner references with controller: true).
const (
	finalizerPatch  = `{"metadata": {"finalizers": ["orphan"]}}`
	controllerPatch = `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b", "controller": true}]}}`
	ownerPatch      = `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}]}}`
	labelPatch      = `{"metadata": {"labels": {"a": "b"}}}`
)

// TestTenantsCannotSetMetadataOfControllers checks that editors cannot set finalizers or controlling owners on a
// TrainJob. A finalizer could prevent the deletion of the TrainJob. Kueue ignores a TrainJob with a controlling owner,
// so the TrainJob would bypass quotas.
func TestTenantsCannotSetMetadataOfControllers(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		editor, admin := clientAs(t, cp, "eve", "vision", "system:authenticated"), clientAs(t, cp, "root", "system:masters")
		for patch, refused := range map[string]bool{finalizerPatch: true, controllerPatch: true, ownerPatch: false, labelPatch: false} {
			job := suspendedJob("created")
			if err := job.UnmarshalJSON([]byte(mergeMetadata(t, job, patch))); err != nil {
				t.Fatal(err)
			}
			expectRefusal(t, "creating a TrainJob with "+patch, "reserved-metadata", refused, editor.Create(t.Context(), job.DeepCopy(), client.DryRunAll))
			expectRefusal(t, "creating a TrainJob as administrator with "+patch, "", false, admin.Create(t.Context(), job.DeepCopy(), client.DryRunAll))

			existing := createSuspended(t, editor)
			change := client.RawPatch(types.MergePatchType, []byte(patch))
			expectRefusal(t, "patching a TrainJob with "+patch, "reserved-metadata", refused, editor.Patch(t.Context(), existing.DeepCopy(), change, client.DryRunAll))
			expectRefusal(t, "patching a TrainJob as administrator with "+patch, "", false, admin.Patch(t.Context(), existing.DeepCopy(), change, client.DryRunAll))
		}
	})
}

// TestTenantsCannotOrphanPods checks that editors cannot delete a TrainJob or JobSet in a way that leaves its pods
// running. Editors may delete a JobSet only if no TrainJob owns it.
func TestTenantsCannotOrphanPods(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		editor := clientAs(t, cp, "eve", "vision", "system:authenticated")
		orphan := true
		options := map[string]struct {
			option  client.DeleteOption
			refused bool
		}{
			"orphaning":             {client.PropagationPolicy(metav1.DeletePropagationOrphan), true},
			"the deprecated option": {&client.DeleteOptions{Raw: &metav1.DeleteOptions{OrphanDependents: &orphan}}, true}, //nolint:staticcheck // the API server still accepts this deprecated option
			"background":            {client.PropagationPolicy(metav1.DeletePropagationBackground), false},
			"foreground":            {client.PropagationPolicy(metav1.DeletePropagationForeground), false},
		}
		job := createSuspended(t, editor)
		jobSet := createLeftover(t, cp, nil)
		for name, tc := range options {
			for _, obj := range []client.Object{job, jobSet} {
				expectRefusal(t, name+" of a "+obj.GetObjectKind().GroupVersionKind().Kind, "orphaning-deletion", tc.refused, editor.Delete(t.Context(), obj, tc.option, client.DryRunAll))
			}
		}
		if err := editor.Delete(t.Context(), jobSet); err != nil {
			t.Errorf("an editor cannot delete a JobSet that is left over: %v", err)
		}
		owned := createLeftover(t, cp, job)
		expectRefusal(t, "deleting a JobSet of a TrainJob", "owned-jobset", true, editor.Delete(t.Context(), owned, client.DryRunAll))
		collector := clientAs(t, cp, "system:serviceaccount:kube-system:generic-garbage-collector", "system:authenticated")
		expectRefusal(t, "deleting a JobSet of a TrainJob as the garbage collector", "", false, collector.Delete(t.Context(), owned))
	})
}

func suspendedJob(name string) *unstructured.Unstructured {
	job := trainJob(name, "team-vision", "mpi-openmpi-cpu")
	job["spec"].(map[string]any)["suspend"] = true
	return &unstructured.Unstructured{Object: job}
}

func createSuspended(t *testing.T, editor client.Client) *unstructured.Unstructured {
	t.Helper()
	job := suspendedJob("")
	job.SetGenerateName("suspended-")
	if err := editor.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := editor.Delete(context.Background(), job); client.IgnoreNotFound(err) != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return job
}

// createLeftover creates a JobSet with the given owner. If the owner is nil, the JobSet has no owner, like a
// JobSet that remains after the deletion of its TrainJob.
func createLeftover(t *testing.T, cp *controlplane.ControlPlane, owner *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	pod := map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "a", "image": "a"}}}
	jobSet := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
		"metadata": map[string]any{"name": "leftover", "namespace": "team-vision"},
		"spec": map[string]any{"suspend": true, "replicatedJobs": []any{map[string]any{
			"name": "node", "template": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod}}},
		}}},
	}}
	if owner != nil {
		jobSet.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	}
	if err := cp.Client().Create(t.Context(), jobSet); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return jobSet
}

// mergeMetadata copies an object, sets the metadata fields that the patch contains, and returns the copy as JSON.
func mergeMetadata(t *testing.T, obj *unstructured.Unstructured, patch string) string {
	t.Helper()
	var change unstructured.Unstructured
	if err := change.UnmarshalJSON([]byte(strings.Replace(patch, "{", `{"apiVersion": "v1", "kind": "Patch", `, 1))); err != nil {
		t.Fatal(err)
	}
	result := obj.DeepCopy()
	for key, value := range change.Object["metadata"].(map[string]any) {
		if err := unstructured.SetNestedField(result.Object, value, "metadata", key); err != nil {
			t.Fatal(err)
		}
	}
	text, err := result.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func expectRefusal(t *testing.T, request, rule string, refused bool, err error) {
	t.Helper()
	switch {
	case refused && (err == nil || !strings.Contains(err.Error(), ": "+rule+": ")):
		t.Errorf("%s: got %v, want it refused by rule %s", request, err, rule)
	case !refused && err != nil:
		t.Errorf("%s: %v", request, err)
	}
}

// TestTenantsCannotResumeQueuedTrainJobs checks that editors cannot resume a TrainJob that waits in a queue. If an
// editor resumed the TrainJob, Kueue would suspend the TrainJob again. Until Kueue did so, the pods of the TrainJob
// would run without quota. By resuming the TrainJob repeatedly, an editor could therefore bypass the queue.
func TestTenantsCannotResumeQueuedTrainJobs(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		editor, admin := clientAs(t, cp, "eve", "vision", "system:authenticated"), clientAs(t, cp, "root", "system:masters")
		existing := createSuspended(t, editor)
		for name, tc := range map[string]struct {
			patch   string
			refused bool
		}{
			"resuming":            {`{"spec": {"suspend": false}}`, true},
			"removing suspend":    {`{"spec": {"suspend": null}}`, true},
			"suspending it again": {`{"spec": {"suspend": true}}`, false},
			"changing a label":    {labelPatch, false},
		} {
			change := client.RawPatch(types.MergePatchType, []byte(tc.patch))
			expectRefusal(t, name, "manual-resume", tc.refused, editor.Patch(t.Context(), existing.DeepCopy(), change, client.DryRunAll))
			expectRefusal(t, name+" as administrator", "", false, admin.Patch(t.Context(), existing.DeepCopy(), change, client.DryRunAll))
		}
	})
}

// TestNamespacesNeedTheLabelOfKueue removes and restores a label that Red Hat's build of Kueue requires on a namespace.
// While the label is missing, the rule unmanaged-namespace must refuse TrainJobs in this namespace.
func TestNamespacesNeedTheLabelOfKueue(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		setKueueLabel(t, cp, "team-vision", "null")
		awaitRefusal(t, cp, "team-vision", "mpi-openmpi-cpu", "unmanaged-namespace")
		setKueueLabel(t, cp, "team-vision", `"true"`)
		awaitRefusal(t, cp, "team-vision", "mpi-openmpi-cpu", "")
	})
}

// setKueueLabel changes the label kueue.openshift.io/managed of a namespace. The argument "value" contains the new
// value of the label as JSON. If the argument is the text null, setKueueLabel removes the label.
func setKueueLabel(t *testing.T, cp *controlplane.ControlPlane, namespace, value string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"`+kueueLabel+`": `+value+`}}}`))
	if err := cp.Client().Patch(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, patch); err != nil {
		t.Fatal(err)
	}
}

// awaitRefusal waits until the given rule refuses a TrainJob. If the rule is empty, awaitRefusal waits until the API
// server admits the TrainJob. The wait is necessary, because the API server reads the labels of namespaces from a
// cache, which can be out of date.
func awaitRefusal(t *testing.T, cp *controlplane.ControlPlane, tenant, runtime, rule string) {
	t.Helper()
	harmless := cases.Case{Tenant: tenant, TrainJob: trainJob("harmless", tenant, runtime)}
	controlplane.Eventually(t, func(context.Context) error {
		message, err := submit(t, cp, harmless)
		if (rule == "" && err == nil) || (rule != "" && strings.Contains(message, ": "+rule+": ")) {
			return nil
		}
		return fmt.Errorf("a TrainJob in %s: got %s, want a refusal by rule %q (admission if the rule is empty)", tenant, fmt.Sprint(err), rule)
	})
}

// TestTenantsCannotEscapeQueues checks that an editor cannot remove the queue of a TrainJob, and cannot set a
// queue or a priority class that the tenant may not use.
func TestTenantsCannotEscapeQueues(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		editor := clientAs(t, cp, "eve", "vision", "system:authenticated")
		existing := suspendedJob("")
		existing.SetGenerateName("queued-")
		existing.SetLabels(map[string]string{"kueue.x-k8s.io/queue-name": "default"})
		if err := editor.Create(t.Context(), existing); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := editor.Delete(context.Background(), existing); err != nil {
				t.Errorf("cleaning up: %v", err)
			}
		})
		for name, tc := range map[string]struct {
			labels string
			rule   string
		}{
			"a queue of another tenant": {`{"kueue.x-k8s.io/queue-name": "leftover"}`, "unlisted-queue"},
			"no queue":                  {`{"kueue.x-k8s.io/queue-name": null}`, "unlisted-queue"},
			"an empty queue":            {`{"kueue.x-k8s.io/queue-name": ""}`, "unlisted-queue"},
			"an unlisted priority":      {`{"kueue.x-k8s.io/priority-class": "urgent"}`, "unlisted-priority-class"},
			"a listed priority":         {`{"kueue.x-k8s.io/priority-class": "training-high"}`, ""},
			"other labels":              {`{"a": "b"}`, ""},
		} {
			change := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": `+tc.labels+`}}`))
			expectRefusal(t, "changing a TrainJob to "+name, tc.rule, tc.rule != "", editor.Patch(t.Context(), existing.DeepCopy(), change, client.DryRunAll))
		}
	})
}
