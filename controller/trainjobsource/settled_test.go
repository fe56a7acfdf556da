package trainjobsource

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// TestSettledRounds builds two rounds, and checks whether the second round ends early.
func TestSettledRounds(t *testing.T) {
	started := time.Unix(1_800_000_000, 0)
	for name, tc := range map[string]struct {
		first func(*round) // changes the first round
		next  func(*round) // changes the next round
		want  bool         // whether the next round ends early
	}{
		"nothing changes":      {want: true},
		"59 minutes later":     {next: func(r *round) { r.now = started.Add(59 * time.Minute) }, want: true},
		"an hour later":        {next: func(r *round) { r.now = started.Add(time.Hour) }},
		"the clock goes back":  {next: func(r *round) { r.now = started.Add(-time.Second) }},
		"an event":             {next: func(r *round) { r.events++ }},
		"a new commit":         {next: func(r *round) { r.commit = &commit{} }},
		"the fetch fails":      {next: func(r *round) { r.failure = &failure{} }},
		"a failure before":     {first: func(r *round) { r.failure = &failure{} }},
		"a change before":      {first: func(r *round) { r.result.Changed = true }},
		"a dry run":            {first: func(r *round) { r.source.Spec.DryRun = true }},
		"a waiting job":        {first: func(r *round) { r.result.States["b"] = plan.Waiting }},
		"a duplicated job":     {first: func(r *round) { r.result.States["b"] = plan.Duplicated }},
		"a job that has ended": {first: func(r *round) { r.result.States["b"] = plan.Ended }, want: true},
		"an incomplete round":  {first: func(r *round) { r.complete = false }},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := &state{}, &commit{}
			first := &round{state: s, commit: c, now: started, complete: true, source: &v1alpha1.TrainJobSource{}}
			first.result.States = map[string]plan.State{"a": plan.Running}
			next := &round{state: s, commit: c, now: started}
			if tc.first != nil {
				tc.first(first)
			}
			if tc.next != nil {
				tc.next(next)
			}
			first.rememberSettled()
			if got := !next.skipIfSettled(t.Context()); got != tc.want {
				t.Errorf("the next round ends early: %t, want %t", got, tc.want)
			}
			runtime.KeepAlive(c)
		})
	}
}

func TestSettledRoundsKeepNoCommit(t *testing.T) {
	var s state
	func() {
		c := &commit{hash: "a"}
		s.commit, s.settled.commit = c, weak.Make(c)
	}()
	s.commit = nil
	runtime.GC()
	if s.settled.commit.Value() != nil {
		t.Error("the dropped commit is still in memory")
	}
}
