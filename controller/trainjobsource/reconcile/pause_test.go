package reconcile

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

type slowServer struct {
	sent  int
	delay time.Duration
}

func (s *slowServer) RoundTrip(*http.Request) (*http.Response, error) {
	s.sent++
	time.Sleep(s.delay)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func send(ctx context.Context, transport http.RoundTripper) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// TestRefuseAfterPause checks which requests are refused after a pause. Normally, a goroutine calls the method "beat"
// every second. During a pause of the whole process, this goroutine does not run. To simulate a pause between two
// requests, the test does not start the goroutine. The test also changes p.last, which is the time of the last beat, to
// an earlier time.
func TestRefuseAfterPause(t *testing.T) {
	server := &slowServer{}
	transport := RefuseAfterPause(server)
	p := &pulse{last: time.Now().Add(-maxPause / 2)}
	ctx := context.WithValue(t.Context(), pulseKey{}, p)
	if err := send(ctx, transport); err != nil {
		t.Errorf("after a short pause: %v", err)
	}
	p.last = time.Now().Add(-maxPause - time.Second)
	for range 2 {
		if err := send(ctx, transport); err == nil {
			t.Error("the round goes on after a long pause")
		}
	}
	if err := send(t.Context(), transport); err != nil {
		t.Errorf("a request of no round: %v", err)
	}
	if server.sent != 2 {
		t.Errorf("the server received %d requests, want 2", server.sent)
	}
}

func TestSlowRequestsDoNotEndTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := withPulse(t.Context())
		defer stop()
		transport := RefuseAfterPause(&slowServer{delay: 3 * maxPause})
		for range 3 {
			if err := send(ctx, transport); err != nil {
				t.Errorf("the round ends: %v", err)
			}
		}
	})
}
