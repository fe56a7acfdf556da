package problem

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrSortsByPosition(t *testing.T) {
	at := func(line, column int, message string) Problem {
		return Problem{Position: Position{File: "a.yaml", Line: line, Column: column}, Message: message}
	}
	err := List{at(2, 1, "z"), at(1, 9, "y"), at(1, 2, "x"), at(1, 2, "w")}.Err()
	want := List{at(1, 2, "w"), at(1, 2, "x"), at(1, 9, "y"), at(2, 1, "z")}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("Err(): -want +got:\n%s", diff)
	}
	if err := (List{}).Err(); err != nil {
		t.Errorf("Err() of an empty list = %v, want nil", err)
	}
}

func TestPathQuotesWhatWouldBeAmbiguous(t *testing.T) {
	for want, keys := range map[string][]string{
		"spec.runtimes.a_b-1.env.HOME":       {"spec", "runtimes", "a_b-1", "env", "HOME"},
		`a."b.c/d"`:                          {"a", "b.c/d"},
		"a.b/c":                              {"a", "b/c"},
		`a."".b`:                             {"a", "", "b"},
		`"é"`:                                {"é"},
		`"a\nb"`:                             {"a\nb"},
		strings.Repeat("a", 60):              {strings.Repeat("a", 60)},
		`"` + strings.Repeat("a", 60) + `…"`: {strings.Repeat("a", 61)},
	} {
		if got := Path(keys); got != want {
			t.Errorf("Path(%q) = %s, want %s", keys, got, want)
		}
	}
}
