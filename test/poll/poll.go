// Package poll waits for conditions in tests.
package poll

import (
	"context"
	"testing"
	"time"
)

// pollInterval is the time between two checks.
const pollInterval = 50 * time.Millisecond

// Until calls the function "check" again and again, until the function returns nil. After a timeout, Until fails the
// test with the last error.
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
