package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadsOf(t *testing.T) {
	in := map[string]any{"name": "a", "settings": map[string]any{"env": map[string]any{"A": "1"}, "user": 1}, "list": []any{1}}
	cases := map[string]struct {
		reads reads
		want  map[string]any
	}{
		"says nothing, reads everything":        {reads{}, in},
		"reads nothing":                         {reads{only: map[string]any{}}, map[string]any{}},
		"a key with all below it":               {reads{only: map[string]any{"settings": true}}, map[string]any{"settings": in["settings"]}},
		"a key below another":                   {reads{only: map[string]any{"settings": map[string]any{"user": true}}}, map[string]any{"settings": map[string]any{"user": 1}}},
		"a mapping stays without what it lacks": {reads{only: map[string]any{"settings": map[string]any{"gang": true}}}, map[string]any{"settings": map[string]any{}}},
		"a key that the input lacks":            {reads{only: map[string]any{"base": true, "target": map[string]any{"gang": true}}}, map[string]any{}},
		"all but some": {
			reads{never: map[string]any{"name": true, "base": true, "settings": map[string]any{"env": true, "gang": true}, "target": map[string]any{"gang": true}}},
			map[string]any{"settings": map[string]any{"user": 1}, "list": []any{1}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.reads.of(in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(in) != 3 {
				t.Error("the input has changed")
			}
		})
	}
}
