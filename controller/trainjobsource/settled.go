package trainjobsource

import (
	"context"
	"time"
	"weak"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// maxUnchecked is the time after a complete round after which the next round is complete again, even if no event has
// arrived. A complete round compares the cluster with Git. A complete round finds changes that cause no event, such as a
// changed record, a changed admission rule, or a removed RoleBinding of the tenant's ServiceAccount.
const maxUnchecked = time.Hour

// settled contains data about the last complete round. The value is empty if the last complete
// round changed something or failed.
type settled struct {
	commit weak.Pointer[commit] // does not keep a commit in memory that was dropped
	events int                  // memory.eventCount before the round
	at     time.Time            // when the round began
}

// isSettled reports whether the last complete round found nothing to do, and nothing has changed
// since this round.
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

// rememberSettled remembers a complete round that found nothing to do. If a complete round had something to do, or if a
// round failed, the next round is complete too. The caller must first write the status, and then call rememberSettled. The
// reason is that a round that ends after the fetch does not compute the status of the jobs again.
func (r *round) rememberSettled() {
	switch {
	case r.busy: // nothing was compared
	case r.complete && r.failure == nil && !r.result.Changed && !r.source.Spec.DryRun && !r.hasOpenJobs() && !r.needsDryRuns():
		r.state.settled = settled{weak.Make(r.commit), r.events, r.now}
	case r.complete || r.failure != nil:
		r.state.settled = settled{}
	}
}

// hasOpenJobs reports whether the state of a job can change without an event. The state of a job can change without an
// event in two cases. A duplicated job can start when another TrainJobSource gives up the same job. New rules can deny a
// waiting job.
func (r *round) hasOpenJobs() bool {
	for _, state := range r.result.States {
		if state == plan.Duplicated || state == plan.Waiting {
			return true
		}
	}
	return false
}
