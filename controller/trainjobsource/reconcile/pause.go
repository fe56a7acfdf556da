package reconcile

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// maxPause is the longest time for which the process may be paused during a round. For example, the process is
	// paused while its machine is suspended. After a longer pause, the round must not continue, for the following
	// reason. Another replica becomes the leader after 15 seconds without a renewal of the lease, and carries out the
	// rest of the round. When the paused process continues, its plan is out of date. For example, another replica may
	// already have created a TrainJob of the plan, and a user may have deleted it. The paused process would then create
	// the TrainJob again.
	maxPause = 10 * time.Second
	// beatInterval is the time between two beats of a pulse.
	beatInterval = time.Second
)

// pulse detects pauses of the process. A pulse beats every second and at each request, so a long time between two beats
// means that the process was paused. The pulse also beats during a slow request, so a slow request does not count as a
// pause. After a slow request, the round can therefore still record the result of this request.
type pulse struct {
	lock  sync.Mutex
	last  time.Time // when the last beat was
	ended bool      // whether the process was paused for too long
}

type pulseKey struct{}

// withPulse starts a pulse, which detects that the process was paused during a round. The first result is the context
// for the requests of the round. At the end of the round, the caller must call the second result, "stop".
func withPulse(ctx context.Context) (round context.Context, stop context.CancelFunc) {
	p := &pulse{last: time.Now()}
	ctx, stop = context.WithCancel(context.WithValue(ctx, pulseKey{}, p))
	go p.run(ctx)
	return ctx, stop
}

// run calls the method "beat" every second until the round ends.
func (p *pulse) run(ctx context.Context) {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = p.beat(time.Now()) // the next request returns the error
		}
	}
}

// beat returns an error if more than maxPause has passed since the last beat. All later calls of the method "beat" then
// return an error too. The method compares the times of the monotonic clock, and also the times of the wall clock. The
// second comparison is necessary because the monotonic clock stops while a machine is suspended.
func (p *pulse) beat(now time.Time) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	if now.Sub(p.last) > maxPause || now.Round(0).Sub(p.last.Round(0)) > maxPause {
		p.ended = true
	}
	p.last = now
	if p.ended {
		return fmt.Errorf("the controller was paused for more than %s, so the controller repeats the reconciliation: another replica may have completed it", maxPause)
	}
	return nil
}

// RefuseAfterPause returns a transport that refuses the requests of interrupted rounds. A round is interrupted if the
// process was paused for too long during the round. All clients of a Reconciler need this transport. A client can wait
// for its rate limit right before it sends a request. The process can be paused during this wait. Therefore the check
// for pauses must run after this wait. Only the transport can run the check so late.
func RefuseAfterPause(next http.RoundTripper) http.RoundTripper { return pulseTransport{next} }

type pulseTransport struct{ next http.RoundTripper }

// RoundTrip sends an HTTP request. The request can belong to a round of the controller. If the process was paused for
// too long during this round of the controller, RoundTrip does not send the request, but returns an error.
func (t pulseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if p, ofRound := r.Context().Value(pulseKey{}).(*pulse); ofRound {
		if err := p.beat(time.Now()); err != nil {
			return nil, err
		}
	}
	return t.next.RoundTrip(r)
}
