package trainjobsource

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
	"github.com/trainyard/trainyard/test/controlplane"
)

type counter struct {
	trainjobsource.Fetcher
	fetches atomic.Int32
}

func (c *counter) Fetch(ctx context.Context, r fetch.Request) (fetch.Result, error) {
	c.fetches.Add(1)
	return c.Fetcher.Fetch(ctx, r)
}

// reserve reserves the namespace of the first tenant, as the controller does for each round (one call of Reconcile).
// If a round has already reserved the namespace, reserve waits until the namespace is free. The returned function
// ends the reservation.
func reserve(t *testing.T, rounds *reconcile.Reconciler) (free func()) {
	t.Helper()
	controlplane.Eventually(t, func(context.Context) error {
		if free = rounds.TryLock(tenants[0]); free == nil {
			return errors.New("a round has reserved the namespace")
		}
		return nil
	})
	return free
}

// TestReservedNamespaceDoesNotStopOthers reserves one of two namespaces. The reservation simulates a long round: during
// a round, the controller reserves the namespace of the TrainJobSource. The controller has one worker. While the
// namespace is reserved, this worker must apply the TrainJobSource in the other namespace. The TrainJobSource in the
// reserved namespace must wait until the namespace is free. The waiting TrainJobSource has an annotation that requests
// a fetch. The controller must fetch the commit for this TrainJobSource only once. Until the controller applies the
// fetched commit, the status of this TrainJobSource must not report the fetch. After more than a minute, the status
// must say what the TrainJobSource waits for. If this TrainJobSource is deleted while the namespace is reserved, the
// deletion must also wait until the namespace is free.
func TestReservedNamespaceDoesNotStopOthers(t *testing.T) {
	l := newLive(t)
	commit := l.push("bert", "numNodes: 2")
	var rounds *reconcile.Reconciler
	fetcher := &counter{}
	var passed atomic.Int64 // the time by which the controller's clock is ahead
	l.runController(func(c *trainjobsource.Controller) {
		rounds = c.Rounds
		rounds.Now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
		fetcher.Fetcher, c.Fetcher = c.Fetcher, fetcher
	})
	free := reserve(t, rounds)
	l.object.Annotations = map[string]string{v1alpha1.SyncAnnotation: "once"}
	l.create()
	waiting := l.object
	l.object = l.newSource("jobs")
	l.object.Namespace = tenants[1]
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)
	time.Sleep(3 * time.Second) // long enough for several attempts of the round that waits
	l.object = waiting
	if l.refresh(); l.object.Status.LastSync != "" || l.object.Status.Applied != nil {
		t.Errorf("while its namespace is reserved, the TrainJobSource has the status %+v", l.object.Status)
	}
	passed.Store(int64(2 * time.Minute))
	l.wait("False", v1alpha1.ReasonProgressing)
	if text := meta.FindStatusCondition(l.object.Status.Conditions, v1alpha1.ReadyCondition).Message; !strings.Contains(text, "for another TrainJobSource, which changes TrainJobs") {
		t.Errorf("the condition Ready has the message %q", text)
	}
	free()
	l.waitRuns("the namespace is free", "bert/1 nodes=2")
	l.waitApplied(commit)
	if n := fetcher.fetches.Load(); n != 2 {
		t.Errorf("%d fetches, want one for each TrainJobSource", n)
	}

	free = reserve(t, rounds)
	l.change(`{"spec":{"prune":"Always"}}`)
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if len(s.Finalizers) == 0 {
			return errors.New("the TrainJobSource has no finalizer")
		}
		return nil
	})
	if err := l.cp.Client().Delete(t.Context(), l.object); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if runs := l.runs(); len(runs) != 1 {
		t.Errorf("while the namespace is reserved, the runs %v exist, want one", runs)
	}
	passed.Store(int64(4 * time.Minute))
	l.wait("False", v1alpha1.ReasonProgressing)
	free()
	l.waitGone()
}
