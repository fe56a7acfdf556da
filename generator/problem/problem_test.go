package problem

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	cases := map[string]struct {
		word       string
		candidates []string
		want       string
	}{
		"a letter too many is found":             {"nodez", []string{"image", "nodes"}, "nodes"},
		"a letter left out is found":             {"imag", []string{"image", "imagePullPolicy"}, "image"},
		"two letters swapped are found":          {"openmip-cpu", []string{"openmpi-cpu", "mpich"}, "openmpi-cpu"},
		"another case is nearer than a letter":   {"always", []string{"alwayz", "Always"}, "Always"},
		"the nearest of several wins":            {"limit", []string{"limits", "list"}, "limits"},
		"a different word is not a typing error": {"kueue", []string{"image", "from"}, ""},
		"nothing comes of no candidates":         {"x", nil, ""},
		"a short word needs to be near":          {"ab", []string{"xyz"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(tc.word, tc.candidates); got != tc.want {
				t.Errorf("Nearest(%q, %q) = %q, want %q", tc.word, tc.candidates, got, tc.want)
			}
		})
	}
}

func TestNearestLeavesOutWhatIsFarTooLong(t *testing.T) {
	candidates, long := []string{"image", "imagePullPolicy"}, strings.Repeat("image", 1<<17)
	allocations := testing.AllocsPerRun(1, func() {
		if got := Nearest(long, candidates); got != "" {
			t.Errorf("Nearest() = %q, want nothing", got)
		}
	})
	if allocations > 10 { // a table would have a row for each letter
		t.Errorf("Nearest() allocates %v times", allocations)
	}
}

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
