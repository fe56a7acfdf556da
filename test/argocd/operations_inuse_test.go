package argocd

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// removeQueueInUse removes a ClusterQueue in which a TrainJob runs. Kueue keeps the ClusterQueue while the TrainJob
// runs, but Argo CD must still apply newer commits.
func (o *operator) removeQueueInUse(t *testing.T) {
	o.changeDocument(t, "s/products: {groups/shared: {groups/; s/queues: {default: products, products: products}/queues: {shared: shared}/",
		"--remove queue/products --remove queue/team-alpha/default --remove queue/team-alpha/products")
	o.expectTerminating(t, clusterQueueKind, "products")
	o.setQuota(t, 7)
	o.expectQuota(t, 7)
	o.expectTerminating(t, clusterQueueKind, "products")
	o.expectRunning(t, "last")
}

// endLastJob deletes the TrainJob "last", which runs in the ClusterQueue "products". The function removeQueueInUse has
// already removed this ClusterQueue from the document, but Kueue keeps the ClusterQueue while the TrainJob runs. After
// the TrainJob is deleted, the ClusterQueue must disappear from the cluster.
func (o *operator) endLastJob(t *testing.T) {
	o.remove(t, "last")
	o.expectSynced(t)
	o.expectGone(t, clusterQueueKind, client.ObjectKey{Name: "products"})
}

// expectSynced waits until Argo CD has applied the last commit and has deleted all removed objects.
func (o *operator) expectSynced(t *testing.T) {
	t.Helper()
	o.refresh(t)
	o.awaitCondition(t, "the platform equals the commit in Git", o.inSync(o.headCommit(t)))
}

// expectTerminating waits until three conditions are met at the same time: the object is being deleted, Argo CD's last
// sync has succeeded, and the Application is OutOfSync.
func (o *operator) expectTerminating(t *testing.T, kind schema.GroupVersionKind, name string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	o.awaitCondition(t, "the sync ends", func(app *unstructured.Unstructured) error {
		if err := o.Client().Get(t.Context(), client.ObjectKey{Name: name}, object); err != nil {
			t.Fatal(err)
		}
		phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
		status, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status")
		if object.GetDeletionTimestamp() == nil || phase != "Succeeded" || status != "OutOfSync" {
			return fmt.Errorf("deletion of %s since %v, phase %s, status %s", name, object.GetDeletionTimestamp(), phase, status)
		}
		return nil
	})
}

func (o *operator) setQuota(t *testing.T, trainJobs int) {
	t.Helper()
	o.changeDocument(t, fmt.Sprintf("s/team-alpha: {\\(quota: {trainJobs: [0-9]*}, \\)*/team-alpha: {quota: {trainJobs: %d}, /", trainJobs), "")
}

func (o *operator) expectQuota(t *testing.T, want int64) {
	t.Helper()
	o.awaitCondition(t, "Argo CD applies the newer commit", func(*unstructured.Unstructured) error {
		if got := o.quota(t); got != want {
			return fmt.Errorf("the quota allows %d TrainJobs, want %d", got, want)
		}
		return nil
	})
}

func (o *operator) quota(t *testing.T) int64 {
	t.Helper()
	quota := &corev1.ResourceQuota{}
	if err := o.Client().Get(t.Context(), client.ObjectKey{Namespace: "team-alpha", Name: "trainyard"}, quota); err != nil {
		t.Fatal(err)
	}
	limit := quota.Spec.Hard["count/trainjobs.trainer.kubeflow.org"]
	return limit.Value()
}

// restoreRuntime adds an unused runtime to the document, and then removes it. While Argo CD waits for a confirmation of
// the removal, restoreRuntime pushes two commits. The first commit adds the runtime again, and the second commit
// changes a quota. Argo CD must not apply these commits while it waits (see docs/operations.md).
func (o *operator) restoreRuntime(t *testing.T) {
	const add = "s/^    mpi: \\(.*\\)/    mpi: \\1\\n    unused: \\1/"
	o.changeDocument(t, add, "")
	o.expectSynced(t)
	o.changeDocument(t, "/^    unused:/d", "--remove runtime/unused")
	o.awaitCondition(t, "Argo CD waits for a confirmation", expectOperation("Waiting for pruning confirmation"))
	o.changeDocument(t, add, "")
	o.setQuota(t, 8)
	time.Sleep(20 * time.Second) // long enough for Argo CD to apply a commit
	if got := o.quota(t); got != 7 {
		t.Errorf("before the confirmation, the quota allows %d TrainJobs, want 7", got)
	}
}

// expectOperation returns a condition for awaitCondition. The condition is met if the message of Argo CD's sync
// contains the given text.
func expectOperation(text string) func(app *unstructured.Unstructured) error {
	return func(app *unstructured.Unstructured) error {
		if message, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "message"); !strings.Contains(message, text) {
			return fmt.Errorf("the message of the operation is %q", message)
		}
		return nil
	}
}

// removeRuntimeInUse removes a runtime that two running TrainJobs use.
func (o *operator) removeRuntimeInUse(t *testing.T) {
	o.expectRunning(t, "kept")
	o.expectRunning(t, "moved")
	o.changeDocument(t, "/^    mpi:/d; s/runtimes: \\[mpi\\]/runtimes: [unused]/", "--remove runtime/mpi")
	o.awaitCondition(t, "Argo CD waits for a confirmation", expectOperation("Waiting for pruning confirmation"))
	o.annotate(t, "argocd.argoproj.io/deletion-approved", time.Now().UTC().Format(time.RFC3339))
	if o.keepsRuntimes {
		o.expectRuntimeStays(t)
	} else {
		o.expectSynced(t)
	}
	o.expectRunning(t, "kept")
	o.expectRunning(t, "moved")
	o.remove(t, "kept")
	o.remove(t, "moved")
	o.expectSynced(t)
	o.expectGone(t, runtimeKind, client.ObjectKey{Name: "mpi"})
}

// changeImmutableField moves a LocalQueue to another ClusterQueue in the document. The API server must refuse this
// change, because the ClusterQueue of a LocalQueue is immutable. trainyard also refuses the change if it finds the
// LocalQueue in the old bundle, so changeImmutableField deletes the old bundle first.
func (o *operator) changeImmutableField(t *testing.T) {
	o.namespace = "team-alpha"
	o.submit(t, "kept", "mpi")
	o.expectRunning(t, "kept")
	o.submit(t, "moved", "mpi")
	o.expectWaiting(t, "moved")
	o.reader.Run(t, "rm -r /tmp/operations/deploy")
	o.changeDocument(t, "s/^      shared: \\(.*\\)/      shared: \\1\\n      other: \\1/; s/queues: {shared: shared}/queues: {shared: other}/", "")
	o.awaitCondition(t, "Argo CD cannot change the queue", func(app *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
		if text := fmt.Sprint(conditions) + describeStatus(app); !strings.Contains(text, "field is immutable") {
			return errors.New(text)
		}
		return nil
	})
	o.expectRunning(t, "kept")
}

// expectRuntimeStays checks what Argo CD does if the removal of a runtime was confirmed, but TrainJobs still use the
// runtime. Argo CD deletes the runtime, but Trainer's finalizer keeps the runtime in the cluster. Because the runtime
// still exists, Argo CD starts another sync. This sync waits for another confirmation. expectRuntimeStays then pushes a
// newer commit. While Argo CD waits, Argo CD must not apply the newer commit. expectRuntimeStays then terminates the
// waiting sync with kubectl. After that, Argo CD must apply the newer commit.
func (o *operator) expectRuntimeStays(t *testing.T) {
	t.Helper()
	o.awaitCondition(t, "Argo CD waits for another confirmation", func(app *unstructured.Unstructured) error {
		if o.hasObject(t.Context(), runtimeKind, client.ObjectKey{Name: "mpi"}) {
			return errors.New("the runtime is not being deleted")
		}
		return expectOperation("Waiting for pruning confirmation")(app)
	})
	o.setQuota(t, 9)
	time.Sleep(20 * time.Second) // long enough for Argo CD to apply a commit
	if got := o.quota(t); got != 8 {
		t.Errorf("while Trainer keeps the runtime, the quota allows %d TrainJobs, want 8", got)
	}
	o.reader.Run(t, `kubectl patch application acme -n argocd --type merge -p '{"status": {"operationState": {"phase": "Terminating"}}}'`)
	o.expectQuota(t, 9)
}
