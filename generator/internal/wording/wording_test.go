package wording

import (
	"slices"
	"testing"
)

func TestSimilarIgnoresUnrelatedShortWords(t *testing.T) {
	allowed := []string{"g", "h", "kg", "logs"}
	cases := map[string][]string{"k": {}, "G": {"g"}, "kgs": {"kg"}, "args": {}, "log": {"logs"}}
	for word, want := range cases {
		if got := Similar(word, allowed); !slices.Equal(got, want) {
			t.Errorf("Similar(%q, %q) = %q, want %q", word, allowed, got, want)
		}
	}
}
