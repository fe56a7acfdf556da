package shape

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMaskApplies(t *testing.T) {
	in := map[string]any{"name": "a", "settings": map[string]any{"env": map[string]any{"A": "1"}, "user": 1}, "list": []any{1}}
	cases := map[string]struct {
		mask mask
		want map[string]any
	}{
		"no mask includes everything":                 {mask{}, in},
		"an empty mask includes nothing":              {mask{include: map[string]any{}}, map[string]any{}},
		"a key with everything below it":              {mask{include: map[string]any{"settings": true}}, map[string]any{"settings": in["settings"]}},
		"a key below another":                         {mask{include: map[string]any{"settings": map[string]any{"user": true}}}, map[string]any{"settings": map[string]any{"user": 1}}},
		"a mapping without the included key is empty": {mask{include: map[string]any{"settings": map[string]any{"gang": true}}}, map[string]any{"settings": map[string]any{}}},
		"a key that is not in the input":              {mask{include: map[string]any{"base": true, "target": map[string]any{"gang": true}}}, map[string]any{}},
		"excluded keys": {
			mask{exclude: map[string]any{"name": true, "base": true, "settings": map[string]any{"env": true, "gang": true}, "target": map[string]any{"gang": true}}},
			map[string]any{"settings": map[string]any{"user": 1}, "list": []any{1}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.mask.apply(in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(in) != 3 {
				t.Error("the input has changed")
			}
		})
	}
}
