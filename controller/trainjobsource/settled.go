package trainjobsource

import (
	"context"
	"time"
	"weak"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// maxUnchecked is the time after which the controller must compare the cluster with Git again. A round with such a
// comparison is called a complete round. If the last complete round began at least maxUnchecked ago, the next round
// must be a complete round, even if no event has arrived. A complete round also finds changes that cause no event.
// Examples are a changed record, a changed admission rule, and a removed RoleBinding of the tenant's ServiceAccount.
const maxUnchecked = time.Hour

// settled describes the last complete round if that round found nothing to do. Otherwise, the value
// is empty.
type settled struct {
	commit weak.Pointer[commit] // weak, so that a dropped commit does not stay in memory
	events int                  // memory.eventCount before the round
	at     time.Time            // when the round began
}

// isSettled reports whether the round can end directly after the fetch. The result is true only if four conditions are
// met. First, the present round has not failed so far. Second, the last complete round found nothing to do. Third, the
// last complete round began less than maxUnchecked ago. Fourth, nothing has changed since the last complete round.
func (r *round) isSettled() bool {
	last := r.state.settled
	age := r.now.Sub(last.at)
	return r.failure == nil && last.commit == weak.Make(r.commit) && last.events == r.events && age >= 0 && age < maxUnchecked
}

// skipIfSettled ends the round after the fetch if nothing has changed. skipIfSettled must be called only if the
// commit is known.
func (r *round) skipIfSettled(context.Context) bool {
	r.complete = !r.isSettled()
	return r.complete
}

// rememberSettled remembers a complete round that found nothing to do. A complete round is a round that compares the
// cluster with Git. Other rounds can end directly after the fetch. If a complete round had something to do, or if any
// round failed, the next round must be a complete round. The caller must write the status before it calls
// rememberSettled. If rememberSettled came first, and the write of the status then failed, the next rounds could end
// directly after the fetch. A round that ends after the fetch does not compute the status of the jobs again. Therefore
// the status in the cluster could stay out of date.
func (r *round) rememberSettled() {
	switch {
	case r.busy: // nothing was compared
	case r.complete && r.failure == nil && !r.result.Changed && !r.source.Spec.DryRun && !r.hasOpenJobs() && !r.needsDryRuns():
		r.state.settled = settled{weak.Make(r.commit), r.events, r.now}
	case r.complete || r.failure != nil:
		r.state.settled = settled{}
	}
}

// hasOpenJobs reports whether the state of a job can change without an event. Such a change is possible for jobs in the
// state Duplicated or Waiting. A job is in the state Duplicated if another TrainJobSource has a job with the same name.
// As soon as the other TrainJobSource no longer has a job with this name, the duplicated job can start. A job in the
// state Waiting can be denied when the rules change.
func (r *round) hasOpenJobs() bool {
	for _, state := range r.result.States {
		if state == plan.Duplicated || state == plan.Waiting {
			return true
		}
	}
	return false
}
