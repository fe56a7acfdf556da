package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func scalarPositions(n *Node) any {
	switch n.Kind {
	case Mapping:
		fields := map[string]any{}
		for _, f := range n.Fields {
			fields[f.Key] = scalarPositions(f.Value)
		}
		return fields
	case List:
		items := []any{}
		for _, item := range n.Items {
			items = append(items, scalarPositions(item))
		}
		return items
	default:
		return n.String()
	}
}

func TestMerge(t *testing.T) {
	cases := map[string]struct {
		base, over string
		want       any
		notes      []string
	}{
		"a later value wins, and the rest stays": {
			base: "{a: 1, b: 2}", over: "{b: 3}",
			want: map[string]any{"a": "base:1:5", "b": "over:1:5"},
		},
		"mappings merge at any depth": {
			base: "{a: {b: {c: 1, d: 2}}}", over: "{a: {b: {d: 3, e: 4}}}",
			want: map[string]any{"a": map[string]any{"b": map[string]any{"c": "base:1:13", "d": "over:1:13", "e": "over:1:19"}}},
		},
		"null removes a key": {
			base: "{a: {b: 1, c: 2}}", over: "{a: {b: null}}",
			want: map[string]any{"a": map[string]any{"c": "base:1:15"}},
		},
		"a null that removes nothing is noted": {
			base: "{image: 1}", over: "{imag: null, new: {deep: null, x: 1}}",
			want: map[string]any{"image": "base:1:9", "new": map[string]any{"x": "over:1:35"}},
			notes: []string{
				`over:1:2: "imag": null removes nothing: the earlier layers have no such key; did you mean "image"?`,
				`over:1:20: "deep": null removes nothing: the earlier layers have no such key`,
			},
		},
		"a value of another type replaces": {
			base: "{a: {b: 1}, c: 1, d: [1]}", over: "{a: 2, c: {x: 1}, d: {y: 1}}",
			want: map[string]any{"a": "over:1:5", "c": map[string]any{"x": "over:1:15"}, "d": map[string]any{"y": "over:1:26"}},
		},
		"a list is replaced as a whole": {
			base: "{a: [1, 2]}", over: "{a: [3]}",
			want: map[string]any{"a": []any{"over:1:6"}},
		},
		"lists of named mappings merge by name, in the order of the lower list": {
			base: "{a: [{name: x, v: 1}, {name: y, v: 2}]}", over: "{a: [{name: z, v: 5}, {name: y, v: 3}]}",
			want: map[string]any{"a": []any{
				map[string]any{"name": "base:1:13", "v": "base:1:19"},
				map[string]any{"name": "over:1:30", "v": "over:1:36"},
				map[string]any{"name": "over:1:13", "v": "over:1:19"},
			}},
		},
		"lists with a missing or duplicate name are replaced": {
			base: "{a: [{name: x}, {v: 2}], b: [{name: x}]}", over: "{a: [{name: x}], b: [{name: y}, {name: y}]}",
			want: map[string]any{
				"a": []any{map[string]any{"name": "over:1:13"}},
				"b": []any{map[string]any{"name": "over:1:29"}, map[string]any{"name": "over:1:40"}},
			},
		},
		"a null in a list is a value": {
			base: "{a: [1]}", over: "{a: [null]}",
			want: map[string]any{"a": []any{"over:1:6"}},
		},
		"a document that is not a mapping replaces everything": {
			base: "{a: 1}", over: "[1]",
			want: []any{"over:1:2"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base, over := parsed(t, "base", tc.base), parsed(t, "over", tc.over)
			before := scalarPositions(base)
			merged, notes := Merge(base, over)
			if diff := cmp.Diff(tc.want, scalarPositions(merged)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var got []string
			for _, note := range notes {
				got = append(got, note.String())
			}
			if diff := cmp.Diff(tc.notes, got); diff != "" {
				t.Errorf("notes: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, scalarPositions(base)); diff != "" {
				t.Errorf("Merge() changed the lower layer: -before +after:\n%s", diff)
			}
		})
	}
}

func parsed(t *testing.T, name, text string) *Node {
	t.Helper()
	n, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
