package problem

import (
	"encoding/json"
	"testing"
)

func TestPhrase(t *testing.T) {
	for name, test := range map[string]struct {
		phrase        Phrase
		people, whole string
	}{
		"no names":   {NewPhrase("Argo CD"), "Argo CD", `"Argo CD"`},
		"one name":   {NewPhrase("namespace ", "a"), "namespace a", `"namespace a"`},
		"four names": {NewPhrase("namespaces ", "d", "c", "b", "a"), "namespaces a, b, c, d", `"namespaces a, b, c, d"`},
		"six names":  {NewPhrase("of ", "f", "e", "d", "c", "b", "a"), "of a, b, c, d and 2 more", `"of a, b, c, d, e, f"`},
	} {
		whole, err := json.Marshal(test.phrase)
		if err != nil {
			t.Fatal(err)
		}
		if got := test.phrase.String(); got != test.people || string(whole) != test.whole {
			t.Errorf("%s: got %q and %s, want %q and %s", name, got, whole, test.people, test.whole)
		}
	}
}

func TestPhrasesWithDifferentNamesDiffer(t *testing.T) {
	one, other := NewPhrase("of ", "a", "b", "c", "d", "e"), NewPhrase("of ", "a", "b", "c", "d", "f")
	if one.String() != other.String() || one == other {
		t.Errorf("%s and %s: want equal texts for people, and different phrases", one, other)
	}
}
