package trainjobsource

import (
	"context"
	"time"
	"weak"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// maxUnchecked is the time after which a round is complete (it compares the cluster with Git) even if no event has arrived.
// Such a round finds changes that cause no event, such as a changed record, a changed admission rule, or a removed
// RoleBinding of the tenant's ServiceAccount.
const maxUnchecked = time.Hour

// settled describes the last complete round. It is empty if this round changed something or failed.
type settled struct {
	commit weak.Pointer[commit] // does not keep a commit in memory that was dropped
	events int                  // memory.eventCount before the round
	at     time.Time            // when the round began
}

// isSettled reports whether nothing has changed since a complete round that found nothing to do.
func (r *round) isSettled() bool {
	last := r.state.settled
	age := r.now.Sub(last.at)
	return r.failure == nil && last.commit == weak.Make(r.commit) && last.events == r.events && age >= 0 && age < maxUnchecked
}

// skipIfSettled ends the round after the fetch if nothing has changed. It must be called only if the commit is known.
func (r *round) skipIfSettled(context.Context) bool {
	r.complete = !r.isSettled()
	return r.complete
}

// rememberSettled remembers a complete round that found nothing to do. After any other complete round, and after a failure,
// the next round is complete too. The caller must write the status first: a round that ends after the fetch does not compute
// the status of the jobs again.
func (r *round) rememberSettled() {
	switch {
	case r.busy: // nothing was compared
	case r.complete && r.failure == nil && !r.result.Changed && !r.source.Spec.DryRun && !r.hasOpenJobs() && !r.needsDryRuns():
		r.state.settled = settled{weak.Make(r.commit), r.events, r.now}
	case r.complete || r.failure != nil:
		r.state.settled = settled{}
	}
}

// hasOpenJobs reports whether the state of a job can change without an event. There are two such states: a duplicated
// job can start when the other TrainJobSource with the same job gives it up, and a waiting job can be denied by new rules.
func (r *round) hasOpenJobs() bool {
	for _, state := range r.result.States {
		if state == plan.Duplicated || state == plan.Waiting {
			return true
		}
	}
	return false
}
