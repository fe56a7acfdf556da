package argocd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/doctest"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/repo"
)

var (
	clusterQueueKind = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "ClusterQueue"}
	localQueueKind   = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "LocalQueue"}
)

// operator is an operator of a platform who follows docs/operations.md.
type operator struct {
	*world
	reader        *doctest.Reader
	namespace     string // of the TrainJobs
	keepsRuntimes bool   // whether Trainer keeps a runtime as long as TrainJobs name it
}

// TestOperatorFollowsThePage runs the commands of docs/operations.md as printed, with the real Kueue. Before and after
// some of the commands, it submits TrainJobs, and checks that Argo CD reverts and stops nothing.
func TestOperatorFollowsThePage(t *testing.T) {
	t.Run("Trainer 2.3", func(t *testing.T) { followOperations(t, strings.NewReplacer(), false) })
	t.Run("Trainer 2.1", func(t *testing.T) {
		older := strings.NewReplacer(`trainer: "2.3"`, `trainer: "2.1"`, `kueue: "0.19"`, `kueue: "0.15"`)
		followOperations(t, older, true, controlplane.Trainer("trainer-2.1"), controlplane.Kueue("kueue-0.15"))
	})
}

func followOperations(t *testing.T, versions *strings.Replacer, keepsRuntimes bool, options ...controlplane.Option) {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	cp := controlplane.Start(t, append(options, controlplane.Queueing(), controlplane.Pods(), controlplane.Alone(t.Name()))...)
	reader, forge := doctest.NewReader(t, t.TempDir()), newForge(t, "git.acme.example")
	w := &world{ControlPlane: cp, repository: repository{dir: reader.Private("/tmp/operations")}, app: "acme"}
	if err := cp.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	w.install(t)
	w.host(t, reader, forge)
	o := &operator{w, reader, "team-a", keepsRuntimes}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(reader.Run(t, "kubectl get clusterqueues,localqueues,workloads,trainjobs,jobsets,pods -A -o wide; kubectl get workloads -A -o yaml"))
		}
	})
	checks := o.checks()
	for _, step := range doctest.Parse(t, versions.Replace(string(text))) {
		checks = o.run(t, checks, "before", step)
		reader.Follow(t, step)
		checks = o.run(t, checks, "after", step)
	}
	if len(checks) > 0 {
		t.Errorf("the page has no command %q", checks[0].command)
	}
}

// check is a check before or after the next command of the page that contains a text.
type check struct {
	when, command string
	check         func(t *testing.T)
}

// run runs the first check if it belongs to a step, and returns the checks that remain.
func (o *operator) run(t *testing.T, checks []check, when string, step doctest.Step) []check {
	t.Helper()
	if len(checks) == 0 || checks[0].when != when || !strings.Contains(step.Command, checks[0].command) {
		return checks
	}
	t.Logf("checking %s: %s", when, step.Command)
	checks[0].check(t)
	return checks[1:]
}

func (o *operator) checks() []check {
	const release, stop = `"stopPolicy": "None"`, `"stopPolicy": "HoldAndDrain"`
	return []check{
		{"after", "operations/deploy/argocd/", func(t *testing.T) {
			o.submit(t, "first", "mpi")
			o.expectRunning(t, "first")
			o.submit(t, "second", "mpi")
		}},
		{"after", `"stopPolicy": "Hold"`, func(t *testing.T) {
			o.expectKept(t, "Hold")
			o.expectRunning(t, "first")
			o.expectWaiting(t, "second")
		}},
		{"after", stop, func(t *testing.T) {
			o.expectKept(t, "HoldAndDrain")
			o.expectWaiting(t, "first")
			o.expectWaiting(t, "second")
		}},
		{"after", release, func(t *testing.T) {
			o.expectKept(t, "None")
			// Kueue starts any of the two jobs. After the end of the second job, the first job starts.
			o.remove(t, "second")
			o.expectRunning(t, "first")
			o.submit(t, "second", "mpi")
			o.expectWaiting(t, "second")
		}},
		{"after", `"Stop the queue research"`, func(t *testing.T) {
			o.expectStopPolicy(t, "Hold")
			o.reader.Run(t, `kubectl patch clusterqueue research --type merge -p '{"spec": {"stopPolicy": "None"}}'`)
			o.expectStopPolicy(t, "Hold")
		}},
		{"after", `"Release the queue research"`, func(t *testing.T) {
			o.expectStopPolicy(t, "None")
			o.expectRunning(t, "first")
			o.expectWaiting(t, "second")
		}},
		{"after", `"Leave the brake`, func(t *testing.T) {
			for _, policy := range []string{"Hold", "None"} {
				o.reader.Run(t, fmt.Sprintf(`kubectl patch clusterqueue research --type merge -p '{"spec": {"stopPolicy": %q}}'`, policy))
				o.expectKept(t, policy)
			}
			o.expectRunning(t, "first")
		}},
		{"after", "kubectl label trainjobs", func(t *testing.T) {
			o.expectRunning(t, "second")
			o.expectRunning(t, "first")
		}},
		{"after", `"Remove the queue default of team-a"`, func(t *testing.T) {
			o.expectGone(t, localQueueKind, client.ObjectKey{Namespace: "team-a", Name: "default"})
			o.expectRunning(t, "first")
			o.expectRunning(t, "second")
		}},
		{"after", `"Let TrainJobs without a label`, func(t *testing.T) {
			o.expectRunning(t, "first")
			o.remove(t, "first")
		}},
		{"after", `"Remove the queue research"`, func(t *testing.T) {
			o.expectGone(t, clusterQueueKind, client.ObjectKey{Name: "research"})
			o.expectRunning(t, "second")
			o.remove(t, "second")
			o.submit(t, "old", "mpi-old")
			o.expectRunning(t, "old")
		}},
		{"after", `"Take no more`, func(t *testing.T) {
			o.expectRunning(t, "old")
			err := o.Client().Create(t.Context(), o.job("refused", "mpi-old"))
			if err == nil || !strings.Contains(err.Error(), "unlisted-runtime") {
				t.Errorf("submitting a TrainJob of a runtime that no tenant lists: %v", err)
			}
		}},
		{"after", "runtimeRef.name", func(t *testing.T) { o.remove(t, "old") }},
		{"after", `"Remove the runtime mpi-old"`, func(t *testing.T) {
			o.expectGone(t, runtimeKind, client.ObjectKey{Name: "mpi-old"})
			o.submit(t, "last", "mpi")
			o.expectRunning(t, "last")
		}},
		{"after", `"Remove the tenant team-a"`, func(t *testing.T) {
			o.expectGone(t, localQueueKind, client.ObjectKey{Namespace: "team-a", Name: "default"})
			o.expectRunning(t, "last")
		}},
		{"before", "operationState.message", o.removeQueueInUse},
		{"after", "status.admission.clusterQueue", o.endLastJob},
		{"before", "Terminating", o.restoreRuntime},
		{"after", "Terminating", func(t *testing.T) {
			if !o.has(t.Context(), runtimeKind, client.ObjectKey{Name: "unused"}) {
				t.Error("Argo CD has deleted the runtime")
			}
		}},
		{"before", "delete localqueue shared", o.changeImmutableField},
		{"after", "delete localqueue shared", o.removeRuntimeInUse},
	}
}

// change edits the document, generates the bundle with flags, and delivers it.
func (o *operator) change(t *testing.T, sed, flags string) {
	t.Helper()
	o.reader.Run(t, fmt.Sprintf("sed -i %q /tmp/operations/platform.yaml", sed))
	o.reader.Run(t, "/tmp/trainyard generate -f /tmp/operations/platform.yaml --format argocd -o /tmp/operations/deploy "+flags)
	o.reader.Run(t, "sh /tmp/operations/deliver.sh Change")
}

// removeQueueInUse removes a ClusterQueue in which a TrainJob runs. Argo CD then applies newer commits, although the
// ClusterQueue remains.
func (o *operator) removeQueueInUse(t *testing.T) {
	o.change(t, "s/products: {groups/shared: {groups/; s/queues: {default: products, products: products}/queues: {shared: shared}/",
		"--remove queue/products --remove queue/team-alpha/default --remove queue/team-alpha/products")
	o.expectTerminating(t, clusterQueueKind, "products")
	o.setQuota(t, 7)
	o.expectQuota(t, 7)
	o.expectTerminating(t, clusterQueueKind, "products")
	o.expectRunning(t, "last")
}

// endLastJob ends the TrainJob in the removed ClusterQueue.
func (o *operator) endLastJob(t *testing.T) {
	o.remove(t, "last")
	o.expectSynced(t)
	o.expectGone(t, clusterQueueKind, client.ObjectKey{Name: "products"})
}

// expectSynced waits until Argo CD has applied the last commit and has deleted all removed objects.
func (o *operator) expectSynced(t *testing.T) {
	t.Helper()
	o.refresh(t)
	o.eventually(t, "the platform equals the commit in Git", o.inSync(o.head(t)))
}

// expectTerminating waits until an object is being deleted, and the sync has ended.
func (o *operator) expectTerminating(t *testing.T, kind schema.GroupVersionKind, name string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	o.eventually(t, "the sync ends", func(app *unstructured.Unstructured) error {
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

// setQuota pushes a commit that changes the number of TrainJobs of the tenant team-alpha.
func (o *operator) setQuota(t *testing.T, trainJobs int) {
	t.Helper()
	o.change(t, fmt.Sprintf("s/team-alpha: {\\(quota: {trainJobs: [0-9]*}, \\)*/team-alpha: {quota: {trainJobs: %d}, /", trainJobs), "")
}

func (o *operator) expectQuota(t *testing.T, want int64) {
	t.Helper()
	o.eventually(t, "Argo CD applies the newer commit", func(*unstructured.Unstructured) error {
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

// restoreRuntime removes a runtime, and restores it before the confirmation. Argo CD must not apply the newer commit.
func (o *operator) restoreRuntime(t *testing.T) {
	const add = "s/^    mpi: \\(.*\\)/    mpi: \\1\\n    unused: \\1/"
	o.change(t, add, "")
	o.expectSynced(t)
	o.change(t, "/^    unused:/d", "--remove runtime/unused")
	o.eventually(t, "Argo CD waits for a confirmation", expectOperation("Waiting for pruning confirmation"))
	o.change(t, add, "")
	o.setQuota(t, 8)
	time.Sleep(20 * time.Second) // long enough for Argo CD to apply a commit
	if got := o.quota(t); got != 7 {
		t.Errorf("before the confirmation, the quota allows %d TrainJobs, want 7", got)
	}
}

// expectOperation returns a condition for the function eventually: the message of the operation contains a text.
func expectOperation(text string) func(app *unstructured.Unstructured) error {
	return func(app *unstructured.Unstructured) error {
		if message, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "message"); !strings.Contains(message, text) {
			return fmt.Errorf("the message of the operation is %q", message)
		}
		return nil
	}
}

// removeRuntimeInUse removes the runtime of two running TrainJobs.
func (o *operator) removeRuntimeInUse(t *testing.T) {
	o.expectRunning(t, "kept")
	o.expectRunning(t, "moved")
	o.change(t, "/^    mpi:/d; s/runtimes: \\[mpi\\]/runtimes: [unused]/", "--remove runtime/mpi")
	o.eventually(t, "Argo CD waits for a confirmation", expectOperation("Waiting for pruning confirmation"))
	o.annotate(t, "argocd.argoproj.io/deletion-approved", time.Now().UTC().Format(time.RFC3339))
	if o.keepsRuntimes {
		o.expectTerminating(t, runtimeKind, "mpi")
		o.setQuota(t, 9)
		o.expectQuota(t, 9)
		o.expectTerminating(t, runtimeKind, "mpi")
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

// changeImmutableField moves a LocalQueue to another ClusterQueue, which trainyard does not notice without the old bundle.
func (o *operator) changeImmutableField(t *testing.T) {
	o.namespace = "team-alpha"
	o.submit(t, "kept", "mpi")
	o.expectRunning(t, "kept")
	o.submit(t, "moved", "mpi")
	o.expectWaiting(t, "moved")
	o.reader.Run(t, "rm -r /tmp/operations/deploy")
	o.change(t, "s/^      shared: \\(.*\\)/      shared: \\1\\n      other: \\1/; s/queues: {shared: shared}/queues: {shared: other}/", "")
	o.eventually(t, "Argo CD cannot change the queue", func(app *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
		if text := fmt.Sprint(conditions) + statusOf(app); !strings.Contains(text, "field is immutable") {
			return errors.New(text)
		}
		return nil
	})
	o.expectRunning(t, "kept")
}

func (o *operator) job(name, runtime string) *trainer.TrainJob {
	return build.MakeTrainJob(name, o.namespace).Label("kueue.x-k8s.io/queue-name", map[string]string{"team-a": "default", "team-alpha": "shared"}[o.namespace]).Runtime(runtime).Nodes(2).Command("mpirun", "hostname").Obj()
}

func (o *operator) submit(t *testing.T, name, runtime string) {
	t.Helper()
	controlplane.Eventually(t, func(ctx context.Context) error { return o.Client().Create(ctx, o.job(name, runtime)) })
}

// remove deletes a TrainJob, which stands for its end.
func (o *operator) remove(t *testing.T, name string) {
	t.Helper()
	if err := o.Client().Delete(t.Context(), o.job(name, "mpi")); err != nil {
		t.Fatal(err)
	}
}

// expectRunning waits until Kueue has admitted a TrainJob and its pods exist. There is no kubelet, so the pods stay
// Pending.
func (o *operator) expectRunning(t *testing.T, name string) {
	t.Helper()
	o.expectPods(t, name, false, 2)
}

func (o *operator) expectWaiting(t *testing.T, name string) {
	t.Helper()
	o.expectPods(t, name, true, 0)
}

func (o *operator) expectPods(t *testing.T, name string, suspended bool, pods int) {
	t.Helper()
	poll.Until(t, timeout, func(context.Context) error {
		ctx := t.Context() // not the context of the poll, whose end would hide the state of the TrainJob
		live, all := &trainer.TrainJob{}, &corev1.PodList{}
		err := errors.Join(
			o.Client().Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, live),
			o.Client().List(ctx, all, client.InNamespace(o.namespace), client.MatchingLabels{"jobset.sigs.k8s.io/jobset-name": name}),
		)
		if got := ptr.Deref(live.Spec.Suspend, false); err == nil && (got != suspended || len(all.Items) != pods) {
			err = fmt.Errorf("%s is suspended: %v, and has %d pods, want %v and %d", name, got, len(all.Items), suspended, pods)
		}
		return err
	})
}

// expectKept makes Argo CD compare Git and the cluster, and checks that Argo CD keeps the stop policy of the ClusterQueue
// research.
func (o *operator) expectKept(t *testing.T, policy string) {
	t.Helper()
	o.expectRest(t)
	o.expectStopPolicy(t, policy)
}

func (o *operator) expectStopPolicy(t *testing.T, policy string) {
	t.Helper()
	queue := &unstructured.Unstructured{}
	queue.SetGroupVersionKind(clusterQueueKind)
	poll.Until(t, timeout, func(ctx context.Context) error {
		err := o.Client().Get(ctx, client.ObjectKey{Name: "research"}, queue)
		if got, _, _ := unstructured.NestedString(queue.Object, "spec", "stopPolicy"); err == nil && got != policy {
			err = fmt.Errorf("the stop policy is %s, want %s", got, policy)
		}
		return err
	})
}

func (o *operator) expectGone(t *testing.T, kind schema.GroupVersionKind, key client.ObjectKey) {
	t.Helper()
	if o.has(t.Context(), kind, key) {
		t.Errorf("%s %s still exists", kind.Kind, key)
	}
}
