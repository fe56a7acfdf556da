package argocd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

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

// operator acts as the operator of a platform, and follows docs/operations.md.
type operator struct {
	*world
	reader        *doctest.Reader
	namespace     string            // of the TrainJobs
	keepsRuntimes bool              // whether Trainer keeps a runtime as long as TrainJobs refer to the runtime
	pods          map[string]string // UIDs of the pods of running TrainJobs, by the name of the TrainJob
}

// TestOperatorFollowsThePage runs the commands of docs/operations.md with the real Kueue. With Trainer 2.3, the test runs
// the commands as printed. With Trainer 2.1, it first replaces the versions of Trainer and Kueue in the platform document
// of the page. Before and after some of the commands, the test submits TrainJobs, and checks which TrainJobs run.
// According to the page, Argo CD keeps some changes that operators make in the cluster, and reverts others. The test also
// checks these statements.
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
	if err := cp.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}}); err != nil {
		t.Fatal(err)
	}
	w.install(t)
	w.startFromForge(t, reader, forge)
	o := &operator{w, reader, "team-a", keepsRuntimes, map[string]string{}}
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

// check contains a function that runs before or after a command of docs/operations.md. The field "when" is "before" or
// "after", and the field "command" is a part of the command's text. The checks of a list run in the order of the list,
// and each check runs only once. The test follows the page from the first command to the last. Before and after each
// command, the test considers only one check: the first check that has not run yet. This check runs only if the text of
// the command contains the value of the check's field "command".
type check struct {
	when, command string
	check         func(t *testing.T)
}

// run executes the first check of a list if this check belongs to the step. The check's field "when" must equal the
// argument "when", and the step's command must contain the text in the check's field "command". run returns the checks
// that have not run yet.
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
			// Both TrainJobs wait until the stop policy of the queue is "None". Kueue can then start either TrainJob.
			// The test deletes the second TrainJob, so that Kueue starts the first.
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
			if !o.hasObject(t.Context(), runtimeKind, client.ObjectKey{Name: "unused"}) {
				t.Error("Argo CD has deleted the runtime")
			}
		}},
		{"before", "delete localqueue shared", o.changeImmutableField},
		{"after", "delete localqueue shared", o.removeRuntimeInUse},
	}
}

func (o *operator) changeDocument(t *testing.T, sed, flags string) {
	t.Helper()
	o.reader.Run(t, fmt.Sprintf("sed -i %q /tmp/operations/platform.yaml", sed))
	o.reader.Run(t, "/tmp/trainyard generate -f /tmp/operations/platform.yaml --format argocd -o /tmp/operations/deploy "+flags)
	o.reader.Run(t, "sh /tmp/operations/deliver.sh Change")
}

func (o *operator) job(name, runtime string) *trainer.TrainJob {
	return build.MakeTrainJob(name, o.namespace).Label("kueue.x-k8s.io/queue-name", map[string]string{"team-a": "default", "team-alpha": "shared"}[o.namespace]).Runtime(runtime).Nodes(2).Command("mpirun", "hostname").Obj()
}

func (o *operator) submit(t *testing.T, name, runtime string) {
	t.Helper()
	controlplane.Eventually(t, func(ctx context.Context) error { return o.Client().Create(ctx, o.job(name, runtime)) })
}

// remove deletes a TrainJob. Deletion is the only way to end a TrainJob here, because no TrainJob completes without a
// kubelet.
func (o *operator) remove(t *testing.T, name string) {
	t.Helper()
	delete(o.pods, name)
	if err := o.Client().Delete(t.Context(), o.job(name, "mpi")); err != nil {
		t.Fatal(err)
	}
}

// expectRunning waits until Kueue has admitted a TrainJob and its pods exist. There is no kubelet, so the pods stay
// Pending. If the TrainJob was running before, it must still have the same pods.
func (o *operator) expectRunning(t *testing.T, name string) {
	t.Helper()
	pods := o.expectPods(t, name, false, 2)
	if known := o.pods[name]; known != "" && known != pods {
		t.Errorf("the TrainJob %s was stopped: it has the pods %s, and had %s", name, pods, known)
	}
	o.pods[name] = pods
}

func (o *operator) expectWaiting(t *testing.T, name string) {
	t.Helper()
	o.pods[name] = o.expectPods(t, name, true, 0)
}

// expectPods waits until a TrainJob has the given number of pods, and its field "suspend" has the given value. The
// result of expectPods contains the UIDs of the pods.
func (o *operator) expectPods(t *testing.T, name string, suspended bool, pods int) string {
	t.Helper()
	all := &corev1.PodList{}
	poll.Until(t, serverTimeout, func(context.Context) error {
		// The requests do not use the context that poll.Until passes, because poll.Until cancels that context at the
		// timeout. A request with that context could fail because of the timeout. The test would then report the
		// canceled request instead of the state of the TrainJob.
		ctx := t.Context()
		live := &trainer.TrainJob{}
		err := errors.Join(
			o.Client().Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, live),
			o.Client().List(ctx, all, client.InNamespace(o.namespace), client.MatchingLabels{"jobset.sigs.k8s.io/jobset-name": name}),
		)
		if got := ptr.Deref(live.Spec.Suspend, false); err == nil && (got != suspended || len(all.Items) != pods) {
			err = fmt.Errorf("%s is suspended: %v, and has %d pods, want %v and %d", name, got, len(all.Items), suspended, pods)
		}
		return err
	})
	var ids []string
	for _, pod := range all.Items {
		ids = append(ids, string(pod.UID))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// expectKept makes Argo CD compare Git and the cluster, and checks that the ClusterQueue "research" keeps
// the given stop policy.
func (o *operator) expectKept(t *testing.T, policy string) {
	t.Helper()
	o.expectRest(t)
	o.expectStopPolicy(t, policy)
}

func (o *operator) expectStopPolicy(t *testing.T, policy string) {
	t.Helper()
	queue := &unstructured.Unstructured{}
	queue.SetGroupVersionKind(clusterQueueKind)
	poll.Until(t, serverTimeout, func(ctx context.Context) error {
		err := o.Client().Get(ctx, client.ObjectKey{Name: "research"}, queue)
		if got, _, _ := unstructured.NestedString(queue.Object, "spec", "stopPolicy"); err == nil && got != policy {
			err = fmt.Errorf("the stop policy is %s, want %s", got, policy)
		}
		return err
	})
}

func (o *operator) expectGone(t *testing.T, kind schema.GroupVersionKind, key client.ObjectKey) {
	t.Helper()
	if o.hasObject(t.Context(), kind, key) {
		t.Errorf("%s %s still exists", kind.Kind, key)
	}
}
