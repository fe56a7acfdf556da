package trainjobsource

import (
	"context"
	"time"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// maxUnchecked is the longest time in which a TrainJobSource is not compared with the cluster. In this time, a round that
// finds no new commit ends after the fetch, because each change of the TrainJobSource or of its TrainJobs causes a
// complete round. Only changes that cause no round can go unnoticed for this long, such as a lost right of the tenant's
// ServiceAccount.
const maxUnchecked = time.Hour

// settled describes the last complete round, if it found nothing to do.
type settled struct {
	commit  *commit   // nil if the next round must be complete
	changes int       // the number of changes before the round
	at      time.Time // when the round began
}

// isSettled reports whether the cluster still matches Git, so that the round can end after the fetch.
func (r *round) isSettled() bool {
	last := r.state.settled
	age := r.now.Sub(last.at)
	return r.failure == nil && last.commit == r.commit && last.changes == r.changes && age >= 0 && age < maxUnchecked
}

// compare ends the round if the cluster still matches Git. The commit is known.
func (r *round) compare(context.Context) bool {
	r.complete = !r.isSettled()
	return r.complete
}

// settle remembers whether the next round must be complete. It is called after the status was written.
func (r *round) settle() {
	switch {
	case r.complete && r.failure == nil && !r.result.Changed && !r.hasDuplicates():
		r.state.settled = settled{r.commit, r.changes, r.now}
	case r.complete || r.failure != nil:
		r.state.settled = settled{}
	}
}

// hasDuplicates reports whether jobs wait for another TrainJobSource. A change of the other TrainJobSource causes no round
// of this one.
func (r *round) hasDuplicates() bool {
	for _, state := range r.result.States {
		if state == plan.Duplicated {
			return true
		}
	}
	return false
}
