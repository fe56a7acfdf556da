package message

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
		"an extra letter":                         {"nodez", []string{"image", "nodes"}, "nodes"},
		"a missing letter":                        {"imag", []string{"image", "imagePullPolicy"}, "image"},
		"two swapped letters":                     {"openmip-cpu", []string{"openmpi-cpu", "mpich"}, "openmpi-cpu"},
		"a change of case is free":                {"always", []string{"alwayz", "Always"}, "Always"},
		"the most similar candidate wins":         {"limit", []string{"limits", "list"}, "limits"},
		"a different word":                        {"kueue", []string{"image", "from"}, ""},
		"two candidates that are equally similar": {"team-c", []string{"team-a", "team-b"}, ""},
		"no candidates":                           {"x", nil, ""},
		"a short word tolerates fewer errors":     {"ab", []string{"xyz"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(tc.word, tc.candidates); got != tc.want {
				t.Errorf("Nearest(%q, %q) = %q, want %q", tc.word, tc.candidates, got, tc.want)
			}
		})
	}
}

func TestSimilarKeepsAllEqualCandidates(t *testing.T) {
	candidates := []string{"team-a", "team-red", "team-b"}
	if diff := cmp.Diff([]string{"team-a", "team-b"}, Similar("team-c", candidates)); diff != "" {
		t.Errorf("Similar(): -want +got:\n%s", diff)
	}
}

func TestNearestSkipsMuchLongerWords(t *testing.T) {
	candidates, long := []string{"image", "imagePullPolicy"}, strings.Repeat("image", 1<<17)
	allocations := testing.AllocsPerRun(1, func() {
		if got := Nearest(long, candidates); got != "" {
			t.Errorf("Nearest() = %q, want nothing", got)
		}
	})
	if allocations > 10 { // computing the distance allocates memory for each letter
		t.Errorf("Nearest() allocates %v times", allocations)
	}
}
