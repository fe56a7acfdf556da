package object

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Shape is what several objects have in common: all of their content but for
// some leaves.
type Shape struct {
	fields map[string]any // with the leaves of the object that the shape was made from
	leaves [][]any        // the paths of the others: keys (string) and indexes (int) from the root
}

// NewShape takes the content of one object, as decoded JSON, and the paths of
// the leaves in which others differ. It keeps both.
func NewShape(fields map[string]any, leaves [][]any) *Shape {
	return &Shape{fields: fields, leaves: leaves}
}

// Fields returns the content that all objects of the shape share. Nobody may change it.
func (s *Shape) Fields() map[string]any { return s.fields }

// Leaves returns the paths of the leaves that differ. Nobody may change them.
func (s *Shape) Leaves() [][]any { return s.leaves }

// at finds the value of an object's leaf.
func (s *Shape) at(path ...any) (index int, ok bool) {
	index = slices.IndexFunc(s.leaves, func(leaf []any) bool { return reflect.DeepEqual(leaf, path) })
	return index, index >= 0
}

// filled is the content of an object of the shape.
func (s *Shape) filled(values []any) map[string]any {
	fields := runtime.DeepCopyJSON(s.fields)
	for i, path := range s.leaves {
		set(fields, path, values[i])
	}
	return fields
}

// set puts a value at a path.
func set(root any, path []any, value any) {
	for i, step := range path {
		last := i == len(path)-1
		switch node := root.(type) {
		case map[string]any:
			key, _ := step.(string)
			if last {
				node[key] = value
			}
			root = node[key]
		case []any:
			index, _ := step.(int)
			if last {
				node[index] = value
			}
			root = node[index]
		}
	}
}
