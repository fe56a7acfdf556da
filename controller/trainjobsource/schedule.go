package trainjobsource

import (
	"math/rand/v2"
	"time"
)

// Delays of rounds.
const (
	// minBackoff is the first wait after an error that may be temporary. At the end of the wait, the controller
	// repeats the round. With each further error, the controller waits twice as long before it repeats the round. The
	// longest wait is maxBackoff or the interval of the TrainJobSource, whichever is shorter. Apart from jitter, an
	// error therefore never makes the controller wait longer than the interval.
	minBackoff = 10 * time.Second
	maxBackoff = 10 * time.Minute
	// busyDelay is the time after which the controller repeats a round that ended early. A round ends early if too
	// many other rounds are fetching, or if another round is changing TrainJobs of the same namespace.
	busyDelay = time.Second
	// quietWait is the time after which the status reports a wait. Suppose that a new spec or a requested fetch must
	// wait for other rounds. If this wait is longer than quietWait, the status says what the TrainJobSource waits for.
	quietWait = time.Minute
	// settleDelay is the delay between two rounds if the first round has changed TrainJobs or the record. The second
	// round must start soon, because further changes may be necessary.
	settleDelay = time.Second
	// jitter is the largest random change of a delay, as a fraction of the delay. Because delays change at
	// random, the rounds do not all start at the same time.
	jitter = 0.1
)

// next returns the time until the next round. If this round has fetched or has tried to fetch, the method also sets the
// time of the next fetch. The next round can start before the next fetch is due, because not every round fetches. For a
// suspended TrainJobSource, the method returns 0, which means that no next round is planned. A round then starts only
// after a restart of the controller, or after a change of the TrainJobSource or of its TrainJobs.
func (r *round) next() time.Duration {
	if r.source.Spec.Suspend {
		return 0
	}
	failed := r.failure.isTemporary()
	if !r.busy || failed { // a busy round has not applied anything, so it ends no series of failures
		r.countFailure(failed)
	}
	interval := r.source.Spec.Interval.Duration
	delay := backoff(r.state.failures, interval)
	if r.fetched {
		r.state.due = r.now.Add(spread(interval))
		if r.state.failure.isTemporary() {
			r.state.due = r.now.Add(delay)
		}
	}
	left := r.timeToFetch()
	switch {
	case r.busy:
		return busyDelay
	case failed && r.failure != r.state.failure:
		return min(left, delay)
	case r.result.Changed:
		return min(left, settleDelay)
	}
	return left
}

// timeToFetch returns how much time remains before the next planned fetch.
func (r *round) timeToFetch() time.Duration {
	if !r.postponed.IsZero() {
		return max(r.postponed.Sub(r.now), 0) + spread(settleDelay)
	}
	return max(r.state.due.Sub(r.now), time.Millisecond)
}

// countFailure counts the failure of a round. The argument "failed" is true if the round has failed and the failure may
// be temporary. Otherwise, the argument is false. The number of successive temporary failures determines the delay
// before the next attempt. The error metric includes temporary failures. It includes permanent failures only in rounds
// with a fetch. A round without a fetch can repeat the failure of an earlier fetch. countFailure does not count this
// repetition.
func (r *round) countFailure(failed bool) {
	fresh := r.fetched || r.failure != r.state.failure
	if failed && fresh {
		r.state.failures++
	} else if !failed {
		r.state.failures = 0
	}
	if r.failure != nil && (r.fetched || failed && fresh) {
		r.Metrics.failed(r.state.key, r.failure.reason)
	}
}

// backoff returns the time until the next attempt, which depends on the number of consecutive
// failures.
func backoff(failures int, interval time.Duration) time.Duration {
	longest := min(maxBackoff, interval)
	delay := minBackoff
	for range failures - 1 {
		if delay *= 2; delay >= longest {
			break
		}
	}
	return spread(min(delay, longest))
}

// spread returns the given time with a random increase or decrease.
func spread(d time.Duration) time.Duration {
	return d + time.Duration((2*rand.Float64()-1)*jitter*float64(d)) //nolint:gosec // not for cryptography
}

// longestSpread returns the largest time that the function "spread" can return.
func longestSpread(d time.Duration) time.Duration { return time.Duration((1 + jitter) * float64(d)) }
