package trainjobsource

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// TestStatusExplainsLongWaits: a new TrainJobSource waits for a slot, because another fetch of its namespace runs.
// After a minute, the status must explain the wait.
func TestStatusExplainsLongWaits(t *testing.T) {
	c := &Controller{}
	c.slots.take("team-a")
	source := &v1alpha1.TrainJobSource{}
	source.Namespace, source.Generation = "team-a", 1
	began := time.Unix(1_800_000_000, 0)
	s := &state{}
	for _, tc := range []struct {
		passed time.Duration
		want   string
	}{
		{0, ""}, {time.Minute, ""}, {time.Minute + time.Second, "waiting since 2027-01-15T08:00:00Z for the fetches of other TrainJobSources"},
	} {
		r := &round{Controller: c, source: source, state: s, now: began.Add(tc.passed)}
		if r.fetch(t.Context()) || !r.busy {
			t.Fatalf("after %s, the round goes on without a slot", tc.passed)
		}
		ready, got := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ReadyCondition), ""
		if ready != nil {
			got = ready.Message
		}
		if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("after %s, the condition Ready has the message %q, want %q", tc.passed, got, tc.want)
		}
		if delay := r.next(); delay != busyDelay {
			t.Errorf("after %s, the next round begins in %s, want %s", tc.passed, delay, busyDelay)
		}
	}
	(&round{Controller: c, source: source, state: s}).suspend()
	if ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ReadyCondition); ready.Status != "Unknown" || ready.Reason != v1alpha1.ReasonSuspended {
		t.Errorf("after the suspension, the condition Ready is %+v", ready)
	}
}

// TestWaitBeginsWithTheChange: if a round waits for a slot, but the TrainJobSource has not changed, the status must not
// report this wait. If the TrainJobSource changes during the wait, the time before the change must not count as waiting
// time.
func TestWaitBeginsWithTheChange(t *testing.T) {
	c := &Controller{}
	c.slots.take("team-a")
	source := &v1alpha1.TrainJobSource{}
	source.Namespace, source.Generation, source.Status.ObservedGeneration = "team-a", 1, 1
	s := &state{}
	began := time.Unix(1_800_000_000, 0)
	for _, tc := range []struct {
		passed     time.Duration
		generation int64
		reported   bool
	}{{0, 1, false}, {time.Hour, 1, false}, {time.Hour + time.Second, 2, false}, {time.Hour + 2*time.Minute, 2, true}} {
		source.Generation = tc.generation
		(&round{Controller: c, source: source, state: s, now: began.Add(tc.passed)}).fetch(t.Context())
		if reported := len(source.Status.Conditions) > 0; reported != tc.reported {
			t.Errorf("after %s, the status says that the TrainJobSource waits: %t, want %t", tc.passed, reported, tc.reported)
		}
	}
}
