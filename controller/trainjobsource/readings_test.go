package trainjobsource

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// TestReadings checks that a namespace must wait after it has used much reading time, and that other namespaces need not wait.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r readings
		read := func(namespace string, spent time.Duration) {
			r.read(namespace, func() { time.Sleep(spent) })
		}
		if got := r.left("a"); got != 0 {
			t.Errorf("before the first reading, namespace a must wait for %v, want 0", got)
		}
		read("a", 9*time.Second)
		if got := r.left("a"); got != 0 {
			t.Errorf("after 9 seconds of reading, namespace a must wait for %v, want 0", got)
		}
		read("a", 3*time.Second)
		read("b", 4*time.Second)
		// The namespace "a" has used 12 seconds of reading time, which gives a wait of 240 seconds. freeReading
		// shortens the wait by 200 seconds, to 40 seconds. The wait began at the end of the first reading. Since then,
		// the two other readings have taken 3 and 4 seconds, so 33 seconds are left.
		const want = 33 * time.Second
		if a, b := r.left("a"), r.left("b"); a != want || b != 0 {
			t.Errorf("wait of namespace a: %v, want %v; wait of namespace b: %v, want 0", a, want, b)
		}
		time.Sleep(want + waitPerReading*freeReading)
		if got := r.left("a") + r.left("b"); got != 0 || len(r.ends) > 0 {
			t.Errorf("after the wait, a further wait of %v and %d namespaces are left, want 0 and 0", got, len(r.ends))
		}
	})
}

// TestPostponedFetch runs rounds whose namespace must wait before its next fetch. Such a round must go on if the
// memory contains a commit that was fetched with the current spec. Otherwise, the round must end. In both cases,
// the next round must begin when the namespace may fetch again.
func TestPostponedFetch(t *testing.T) {
	for name, tc := range map[string]struct {
		fetched             int64 // the generation that was fetched; the TrainJobSource has generation 1
		commit              *commit
		continues, explains bool
	}{
		"the time has come":        {1, &commit{}, true, false},
		"the spec has changed":     {0, &commit{}, false, true},
		"no commit is in memory":   {1, nil, false, true},
		"nothing was fetched ever": {0, nil, false, true},
	} {
		c, now := &Controller{}, time.Now()
		c.readings.add("team", 20*time.Second)
		source := &v1alpha1.TrainJobSource{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Generation: 1}}
		source.Spec.Interval.Duration = time.Minute
		r := &round{Controller: c, source: source, state: &state{generation: tc.fetched, commit: tc.commit}, now: now}
		if got := r.fetch(t.Context()); got != tc.continues || (r.failure != nil) != tc.explains || r.fetched {
			t.Errorf("%s: the round goes on: %v, fetched: %v, failure %v", name, got, r.fetched, r.failure)
		}
		const wait = 200 * time.Second // reading for 20 seconds requires a wait of 400 seconds, of which 200 seconds are free
		if got := r.next(); got < wait || got > wait+2*settleDelay || r.state.failures > 0 {
			t.Errorf("%s: the next round begins after %v, %d failures, want %v and no failure", name, got, r.state.failures, wait)
		}
	}
}
