package object

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// Shape is what several objects have in common: all of their content but for
// some leaves.
type Shape struct {
	fields map[string]any // with the leaves of the object that the shape was made from
	leaves [][]any        // the paths of the others: keys (string) and indexes (int) from the root

	apiVersion, kind, name, namespace place
	labels                            map[string]place

	derived sync.Map // by what Derive was asked for
}

// place is where a text of an object stands: in a leaf, or in all objects of the shape.
type place struct {
	leaf int // -1 for none
	text string
}

// NewShape takes the content of one object, as decoded JSON, and the paths of
// the leaves in which others differ. It keeps both.
func NewShape(fields map[string]any, leaves [][]any) *Shape {
	s := &Shape{fields: fields, leaves: leaves, labels: map[string]place{}}
	s.apiVersion, s.kind = s.at(fields, "apiVersion"), s.at(fields, "kind")
	metadata, _ := fields["metadata"].(map[string]any)
	s.name, s.namespace = s.at(metadata, "metadata", "name"), s.at(metadata, "metadata", "namespace")
	labels, _ := metadata["labels"].(map[string]any)
	for key := range labels {
		s.labels[key] = s.at(labels, "metadata", "labels", key)
	}
	return s
}

// at finds a text by its path, whose last key is one of the fields.
func (s *Shape) at(fields map[string]any, path ...any) place {
	key, _ := path[len(path)-1].(string)
	text, _ := fields[key].(string)
	return place{s.leaf(path), text}
}

// leaf is the index of the leaf at a path, or -1.
func (s *Shape) leaf(path []any) int {
	return slices.IndexFunc(s.leaves, func(leaf []any) bool { return slices.Equal(leaf, path) })
}

// Fields returns the content that all objects of the shape share. Nobody may change it.
func (s *Shape) Fields() map[string]any { return s.fields }

// Leaves returns the paths of the leaves that differ. Nobody may change them.
func (s *Shape) Leaves() [][]any { return s.leaves }

// Derive returns what derive yields, which it does once for each shape and key: what
// only depends on a shape is then made once for all objects and sets that share it.
func (s *Shape) Derive(key any, derive func() any) any {
	if made, ok := s.derived.Load(key); ok {
		return made
	}
	made, _ := s.derived.LoadOrStore(key, derive())
	return made
}

// filled is the content of an object of the shape.
func (s *Shape) filled(values []any) map[string]any { return With(s.fields, s.leaves, values) }

// With copies decoded JSON and has values, which are not copied, at some paths of it: keys (string) and
// indexes (int) that are there.
func With(fields map[string]any, paths [][]any, values []any) map[string]any {
	fields = runtime.DeepCopyJSON(fields)
	for i, path := range paths {
		set(fields, path, values[i])
	}
	return fields
}

// At returns what is at a path of decoded JSON: keys (string) and indexes (int). It is nil where there is nothing.
func At(node any, path []any) any {
	for _, step := range path {
		node = below(node, step)
	}
	return node
}

// below returns what is at a key of a mapping, or at an index of a list.
func below(node, step any) any {
	switch at := node.(type) {
	case map[string]any:
		key, _ := step.(string)
		return at[key]
	case []any:
		index, is := step.(int)
		if is && index >= 0 && index < len(at) {
			return at[index]
		}
	}
	return nil
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
