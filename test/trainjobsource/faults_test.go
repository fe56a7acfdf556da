package trainjobsource

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// change is a step of the history that TestCrashAfterEveryWrite replays.
type change struct {
	name   string
	change func(w *world)
}

var history = []change{
	{"create", func(w *world) { w.commit("bert", "numNodes: 2"); w.commit("gpt", "numNodes: 1") }},
	{"edit", func(w *world) { w.commit("bert", "numNodes: 3") }},
	{"edit again, and relabel", func(w *world) {
		w.commit("bert", "numNodes: 4")
		w.commit("gpt", "numNodes: 1", ", labels: {a: b}")
	}},
	{"end and remove", func(w *world) { w.end("gpt", trainer.TrainJobComplete); w.commit("gpt", "") }},
}

// TestCrashAfterEveryWrite replays a history of changes several times. The first replay has no crash. In each further
// replay, the controller crashes after one write: after the first write, then after the second write, and so on to the
// last write. At the moment of the crash, the API server has already answered the write, but the controller does not
// get the answer. Each replay with a crash must end with the same TrainJobs in the cluster as the first replay.
func TestCrashAfterEveryWrite(t *testing.T) {
	for _, onChange := range []plan.OnChange{plan.Queue, plan.RunAlongside, plan.Replace} {
		t.Run(string(onChange), func(t *testing.T) {
			w := newWorld(t, plan.Policy{OnChange: onChange, Prune: plan.Always, Succeeded: 1, Failed: 1})
			want, writes := w.replay(0)
			if writes < 8 {
				t.Fatalf("the history has only %d writes", writes)
			}
			for n := range writes {
				w.clear()
				clear(w.files)
				got, _ := w.replay(n + 1)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("crash after write %d: -without +with the crash:\n%s", n+1, diff)
				}
			}
		})
	}
}

// replay replays the history. If the argument "crashAfter" is not 0, the controller crashes after this number of
// writes. replay returns a list of the TrainJobs that exist at the end. replay also returns the number of writes since
// the last start of the controller.
func (w *world) replay(crashAfter int64) (runs []string, writes int64) {
	w.t.Helper()
	w.restart(crashAfter)
	for _, step := range history {
		step.change(w)
		for range 50 {
			result, err := w.round()
			if err != nil {
				if !errors.Is(err, errCrashed) {
					w.t.Fatalf("%s: %v", step.name, err)
				}
				w.restart(0)
				continue
			}
			if !result.Changed {
				break
			}
		}
	}
	return w.runs(), w.transport.writes.Load()
}

// TestRandomHistoriesOnTheAPIServer makes random changes in Git and in the cluster, and lets the controller crash at
// random moments. A job must never have two active runs. randomSteps counts how many versions of each job are committed
// to Git. At the end, a job's number of runs must not exceed its number of versions.
func TestRandomHistoriesOnTheAPIServer(t *testing.T) {
	w := newWorld(t, plan.Policy{OnChange: plan.Queue, Prune: plan.Finished, Succeeded: 99, Failed: 99})
	started := w.randomSteps(500)
	w.settle()
	for job, versions := range started {
		runs := slices.DeleteFunc(w.runs(), func(run string) bool { return len(run) <= len(job) || run[:len(job)+1] != job+"/" })
		if len(runs) > versions {
			t.Errorf("%s has %d runs of %d versions: %v", job, len(runs), versions, runs)
		}
	}
}

// TestTenantsAreIsolated checks that the ServiceAccount of a tenant has no rights in another namespace, and that the
// controller cannot handle a TrainJobSource in a namespace without a tenant.
func TestTenantsAreIsolated(t *testing.T) {
	w := newWorld(t, queue)
	own := w.reconciler.TrainJobs
	w.reconciler.TrainJobs = func(_, account string) (client.Client, error) { return own(tenants[1], account) }
	w.commit("bert", "numNodes: 2")
	if _, err := w.round(); !apierrors.IsForbidden(errors.Unwrap(err)) {
		t.Errorf("as the account of another tenant, the round returns %v, want it forbidden", err)
	}
	w.reconciler.TrainJobs = own
	w.source.Namespace = w.cp.Namespace(t)
	if _, err := w.round(); !apierrors.IsForbidden(errors.Unwrap(err)) {
		t.Errorf("in a namespace without a tenant, the round returns %v, want it forbidden", err)
	}
}
