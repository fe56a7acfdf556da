package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPointersLeadBack(t *testing.T) {
	root := map[string]any{
		"a": map[string]any{"": "x", "b/c": "x", "~1": "x", "0": "x"},
		"l": []any{"x", map[string]any{"1": "x"}, []any{"x"}},
	}
	paths := [][]any{
		{"a", ""}, {"a", "0"}, {"a", "b/c"}, {"a", "~1"},
		{"l", 0}, {"l", 1, "1"}, {"l", 2, 0}, {"l", 2, 0}, {"l", 2}, {},
	}
	if diff := cmp.Diff(paths, pathsOf(pointersTo(paths), root)); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}
