package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompose(t *testing.T) {
	cases := map[string]struct {
		base, first, second string
		notes               []string
	}{
		"a null removes a key of the base":                   {base: "{a: {b: 1, c: 2}}", first: "{a: {c: 3}}", second: "{a: {b: null}}"},
		"a null removes the key of the base and of a patch":  {base: "{a: {b: 1}}", first: "{a: {c: 2}}", second: "{a: null}"},
		"a null removes the key of a patch only":             {base: "{b: 1}", first: "{a: {c: 2}}", second: "{a: null}"},
		"a mapping after a null is not merged into the base": {base: "{a: {b: 1}}", first: "{a: null}", second: "{a: {c: 2}}"},
		"a mapping after a scalar is not merged":             {base: "{a: {b: 1}}", first: "{a: 2}", second: "{a: {c: 2}}"},
		"a list after a null is not merged":                  {base: "{a: [{name: x}]}", first: "{a: null}", second: "{a: [{name: y}]}"},
		"lists of named mappings merge":                      {base: "{a: [{name: x, v: 1, w: 2}]}", first: "{a: [{name: x, v: 2}]}", second: "{a: [{name: x, w: null}]}"},
		"a mapping after a mapping after a null":             {base: "{a: {b: 1}}", first: "{a: null, d: 1}", second: "{a: {c: {e: null, f: 1}}}", notes: []string{"second:1:10"}},
		"two nulls without a key are idle":                   {base: "{b: 1}", first: "{a: null}", second: "{a: null}", notes: []string{"second:1:2"}},
		"two nulls remove a key":                             {base: "{a: 1}", first: "{a: null}", second: "{a: null}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base, first, second := parsed(t, "base", tc.base), parsed(t, "first", tc.first), parsed(t, "second", tc.second)
			inTurn, _ := Merge(base, first)
			inTurn, _ = Merge(inTurn, second)
			composed, notes := Merge(base, Compose(first, second))
			if diff := cmp.Diff(scalarPositions(inTurn), scalarPositions(composed)); diff != "" {
				t.Errorf("-in turn +composed:\n%s", diff)
			}
			var at []string
			for _, note := range notes {
				at = append(at, note.Position.String())
			}
			if diff := cmp.Diff(tc.notes, at); diff != "" {
				t.Errorf("notes: -want +got:\n%s", diff)
			}
		})
	}
}
