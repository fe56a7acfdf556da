package reconcile

import (
	"net/http"
	"testing"
	"time"
)

type answers struct{ sent int }

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	a.sent++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestRefuseAfterPause checks that a round sends no request after a long pause, and that other requests are not affected.
func TestRefuseAfterPause(t *testing.T) {
	server := &answers{}
	transport := RefuseAfterPause(server)
	ctx := withPace(t.Context())
	send := func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	progress := ctx.Value(paceKey{}).(*pace)
	progress.last = time.Now().Add(-maxPause / 2)
	if err := send(); err != nil {
		t.Errorf("after a short pause: %v", err)
	}
	progress.last = time.Now().Add(-maxPause - time.Second)
	for range 2 {
		if err := send(); err == nil {
			t.Error("the round goes on after a long pause")
		}
	}
	ctx = t.Context()
	if err := send(); err != nil {
		t.Errorf("a request of no round: %v", err)
	}
	if server.sent != 2 {
		t.Errorf("the server received %d requests, want 2", server.sent)
	}
}
