package reconcile

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// maxPause is the longest time between the beginnings of two requests of a round. A process can stand still for a longer
// time, for example because its machine was suspended. Another replica then becomes the leader after 15 seconds without a
// renewal of the lease, and carries out the rest of the round. When the first process continues, its plan is out of date:
// a TrainJob of the plan may have run, and somebody may have deleted it.
const maxPause = 10 * time.Second

// pace is the progress of a round. A round sends one request after the other, so a pace needs no lock.
type pace struct {
	last  time.Time // when the last request began
	ended bool      // the round stood still for too long
}

type paceKey struct{}

// withPace returns a context for the requests of a round that begins now.
func withPace(ctx context.Context) context.Context {
	return context.WithValue(ctx, paceKey{}, &pace{last: time.Now()})
}

// RefuseAfterPause returns a transport that sends no request of a round that has stood still for too long. All clients of
// a Reconciler need this transport, because a client can wait for its rate limit right before it sends a request.
func RefuseAfterPause(next http.RoundTripper) http.RoundTripper { return pacedTransport{next} }

type pacedTransport struct{ next http.RoundTripper }

// RoundTrip sends a request, or refuses it.
func (t pacedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if p, ofRound := r.Context().Value(paceKey{}).(*pace); ofRound {
		if err := p.step(time.Now()); err != nil {
			return nil, err
		}
	}
	return t.next.RoundTrip(r)
}

// step returns an error if more than maxPause has passed since the last request, or passed between two earlier requests.
func (p *pace) step(now time.Time) error {
	if now.Sub(p.last) > maxPause {
		p.ended = true
	}
	p.last = now
	if p.ended {
		return fmt.Errorf("the round stood still for more than %s, and is repeated: another replica may have finished it", maxPause)
	}
	return nil
}
