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
		left := func(namespace string) time.Duration {
			until, wait := r.mustWait(namespace, time.Now())
			if !wait {
				return 0
			}
			return time.Until(until)
		}
		read("a", 9*time.Second)
		if got := left("a"); got != 0 {
			t.Errorf("a must wait %v after 9 seconds of reading", got)
		}
		read("a", 3*time.Second)
		read("b", 4*time.Second)
		const want = 33 * time.Second // 12 seconds cost 240 seconds, of which 200 seconds are free, and 3 and 4 seconds have passed
		if a, b := left("a"), left("b"); a != want || b != 0 {
			t.Errorf("a must wait %v, and b %v, want %v and 0", a, b, want)
		}
		time.Sleep(want + freeReading*readingPrice + time.Second)
		if got := left("a") + left("b"); got != 0 || len(r.paid) > 0 {
			t.Errorf("wait %v, and %d entries after all time has passed", got, len(r.paid))
		}
	})
}

// TestPostponedFetch checks that a round goes on without a fetch while its namespace must wait, and that the next round begins after the
// wait.
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
		c.readings.charge("team", now, 20*time.Second)
		source := &v1alpha1.TrainJobSource{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Generation: 1}}
		source.Spec.Interval.Duration = time.Minute
		r := &round{Controller: c, source: source, state: &state{generation: tc.fetched, commit: tc.commit}, now: now}
		if got := r.fetch(t.Context()); got != tc.continues || (r.failure != nil) != tc.explains || r.fetched {
			t.Errorf("%s: the round goes on: %v, fetched: %v, failure %v", name, got, r.fetched, r.failure)
		}
		const wait = 200 * time.Second // 20 seconds cost 400 seconds, of which 200 seconds are free
		if got := r.next(); got < wait || got > wait+2*settleDelay || r.state.failures > 0 {
			t.Errorf("%s: the next round begins after %v, %d failures, want %v and no failure", name, got, r.state.failures, wait)
		}
	}
}
