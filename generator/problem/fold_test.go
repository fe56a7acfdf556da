package problem

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFold(t *testing.T) {
	at := func(line int, path, message string) Problem {
		return Problem{Position: Position{File: "a.yaml", Line: line, Column: 1}, Path: path, Message: message}
	}
	times := func(n int, path string) (all List) {
		for i := range n {
			all = append(all, at(i+1, strings.ReplaceAll(path, "N", fmt.Sprint(i)), "x"))
		}
		return all
	}
	folded := func(path, note string) List { return List{at(1, path, "x ("+note+")")} }
	cases := map[string]struct{ all, want List }{
		"nothing":                      {nil, nil},
		"three problems":               {times(3, "spec.tenants.team-N.egress"), times(3, "spec.tenants.team-N.egress")},
		"another message":              {append(times(4, "spec.a"), at(9, "spec.b", "y")), append(folded("spec.a", "found at 4 places"), at(9, "spec.b", "y"))},
		"mixed messages":               {List{at(1, "spec.a", "x"), at(2, "spec.b", "y"), at(3, "spec.c", "x")}, List{at(1, "spec.a", "x"), at(2, "spec.b", "y"), at(3, "spec.c", "x")}},
		"many tenants":                 {times(9, "spec.tenants.team-N.runtimes.0"), folded("spec.tenants.team-0.runtimes.0", "found at 9 places, of tenants team-0, team-1, team-2 and 6 more")},
		"one tenant":                   {times(9, "spec.tenants.team.runtimes.N"), folded("spec.tenants.team.runtimes.0", "found at 9 places, of tenant team")},
		"runtimes":                     {times(4, "spec.runtimes.mpi-N.gang"), folded("spec.runtimes.mpi-0.gang", "found at 4 places, of runtimes mpi-0, mpi-1, mpi-2 and 1 more")},
		"tenants and runtimes":         {append(times(4, "spec.runtimes.N"), at(9, "spec.tenants.b", "x")), folded("spec.runtimes.0", "found at 5 places")},
		"neither tenants nor runtimes": {append(times(4, "spec.queues"), at(9, "", "x")), folded("spec.queues", "found at 5 places")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.all.Fold()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	other := times(4, "spec.runtimes.N")
	other[3].Rule = Syntax
	if got := other.Fold(); len(got) != 4 {
		t.Errorf("problems of different rules were folded: %v", got)
	}
}
