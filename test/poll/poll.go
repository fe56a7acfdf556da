// Package poll waits for conditions in tests.
package poll

import (
	"context"
	"testing"
	"time"
)

// pollInterval is the time between two checks of a condition.
const pollInterval = 50 * time.Millisecond

// Until is a function that waits for a condition. It calls the function "check" repeatedly, and returns when "check"
// returns nil. If "check" still returns an error after the timeout, Until fails the test with this error.
func Until(t testing.TB, timeout time.Duration, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timeout after %s: %v", timeout, err)
		case <-time.After(pollInterval):
		}
	}
}
