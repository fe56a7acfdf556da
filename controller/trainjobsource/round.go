package trainjobsource

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
)

// round is one pass in which the controller handles a TrainJobSource. The steps of a round store their results in
// this struct.
type round struct {
	*Controller
	source *v1alpha1.TrainJobSource // a copy, whose status the round changes
	before *v1alpha1.TrainJobSource
	state  *state
	now    time.Time

	events    int               // memory.eventCount before the round
	fetched   bool              // whether the round fetched, or tried to
	postponed time.Time         // when the next fetch may begin; zero if the round need not wait for this time
	busy      bool              // the round ended early, because it would have waited for other rounds
	unlock    func()            // ends the reservation of the namespace; nil if the round has not reserved it
	commit    *commit           // nil if no commit is known
	complete  bool              // whether the round compares the cluster with Git
	denied    map[string]string // the jobs that the rules forbid, with the reasons
	result    reconcile.Result
	problems  []problem
	failure   *failure // why the cluster does not match Git; nil if it matches
}

// failure is the reason why a round failed, completely or in part.
type failure struct {
	reason    string // one of the reasons in api/v1alpha1
	stalled   bool   // whether somebody must fix the cause; otherwise the failure may be temporary
	postponed bool   // the fetch has not failed, but must wait
	message   string
}

// isTemporary reports whether the round failed for a reason that may be temporary. After such a failure, the
// controller repeats the round soon.
func (f *failure) isTemporary() bool { return f != nil && !f.stalled && !f.postponed }

// problem is a mistake in a file, or a job that could not be applied.
type problem struct {
	v1alpha1.JobProblem
	job    string // the job's name; empty if the mistake concerns a file
	denied bool   // the rules or the API server refuse the job
}

// step carries out one part of a round. A step returns false if it ends the
// round.
type step func(*round, context.Context) bool

// steps contains the steps of a round, in order.
var steps = []step{(*round).fetch, (*round).skipIfSettled, (*round).reserve, (*round).decode, (*round).judge, (*round).apply}

func (c *Controller) newRound(source *v1alpha1.TrainJobSource) *round {
	r := &round{Controller: c, before: source, now: c.Rounds.Now()}
	r.state = c.memory.get(client.ObjectKeyFromObject(source), source.UID)
	if r.state.written.version == source.ResourceVersion {
		r.before = source.DeepCopy()
		r.state.written.status.DeepCopyInto(&r.before.Status)
	}
	r.source = r.before.DeepCopy()
	c.Metrics.observe(r.source, r.now)
	return r
}

// run carries out the steps of a round. The method returns an error only if it cannot change the
// finalizer of the TrainJobSource. The status of the TrainJobSource shows all other errors.
func (r *round) run(ctx context.Context) error {
	if err := r.setFinalizer(ctx, r.needsFinalizer()); err != nil {
		return err
	}
	r.carryOut(ctx)
	if r.busy {
		return nil
	}
	r.summarize()
	if r.failure != nil {
		log.FromContext(ctx).Info("the cluster does not match Git", "reason", r.failure.reason, "message", r.failure.message)
	}
	return nil
}

// carryOut runs the steps of a round until a step ends the round.
func (r *round) carryOut(ctx context.Context) {
	defer r.release()
	for _, step := range steps {
		if !step(r, ctx) {
			return
		}
	}
}

// reserve locks the namespace for the rest of the round.
func (r *round) reserve(context.Context) bool {
	if r.unlock = r.Rounds.TryLock(r.source.Namespace); r.unlock == nil {
		return r.waitFor("another TrainJobSource, which changes TrainJobs of this namespace")
	}
	return true
}

// waitFor is called by a step that would have to wait for other rounds. waitFor does not wait, and always returns
// false. The calling step then also returns false, which ends the round. If a new spec or a requested fetch has waited
// for longer than quietWait, the status says what the TrainJobSource waits for.
func (r *round) waitFor(others string) bool {
	r.busy = true
	status := r.source.Status
	isNew := status.ObservedGeneration != r.source.Generation || status.LastSync != r.source.Annotations[v1alpha1.SyncAnnotation]
	switch {
	case !isNew:
		r.state.waiting = time.Time{}
	case r.state.waiting.IsZero():
		r.state.waiting = r.now
	case r.now.Sub(r.state.waiting) > quietWait:
		since := r.state.waiting.UTC().Format(time.RFC3339)
		r.setConditions(&failure{reason: v1alpha1.ReasonProgressing, message: fmt.Sprintf("waiting since %s for %s", since, others)})
	}
	return false
}

// release unlocks the namespace that the round has reserved.
func (r *round) release() {
	if r.unlock != nil {
		r.unlock()
	}
}

// fail stores the failure of the round, and returns false, which ends the round.
func (r *round) fail(f failure) bool {
	r.failure = &f
	return false
}

// suspend makes the status show that the TrainJobSource is suspended. suspend changes nothing else
// in the cluster.
func (r *round) suspend() {
	r.state.generation = 0 // the next round fetches
	r.source.Status.ObservedGeneration = r.source.Generation
	const text = "spec.suspend is true: nothing is fetched or applied"
	r.setCondition(v1alpha1.ReconcilingCondition, "False", v1alpha1.ReasonSuspended, text)
	if ready := meta.FindStatusCondition(r.source.Status.Conditions, v1alpha1.ReadyCondition); ready != nil && ready.Reason == v1alpha1.ReasonProgressing {
		r.setCondition(v1alpha1.ReadyCondition, "Unknown", v1alpha1.ReasonSuspended, text) // the TrainJobSource does not wait any more
	}
}
