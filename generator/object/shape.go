package object

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// Shape is an object without the values of its parameters. Objects of the same shape differ only in the values of
// their parameters.
type Shape struct {
	fields     map[string]any // the fields of one object of the shape, with the values of this object
	parameters [][]any        // paths of the parameters: keys (string) and indexes (int) from the root

	apiVersion, kind, name, namespace shapeText
	labels                            map[string]shapeText

	derived sync.Map // results of the method Derive, by key
}

// shapeText is a string in a shape, such as the name of an object. If the string is a parameter, it can differ
// between the objects of the shape. Otherwise all objects of the shape contain the same string.
type shapeText struct {
	parameter int // index of the parameter; -1 if the string is not a parameter
	text      string
}

// NewShape returns the shape of an object. The arguments are the fields of the object as decoded JSON, and the paths of
// the parameters. NewShape does not copy its arguments.
func NewShape(fields map[string]any, parameters [][]any) *Shape {
	s := &Shape{fields: fields, parameters: parameters, labels: map[string]shapeText{}}
	s.apiVersion, s.kind = s.textAt(fields, "apiVersion"), s.textAt(fields, "kind")
	metadata, _ := fields["metadata"].(map[string]any)
	s.name, s.namespace = s.textAt(metadata, "metadata", "name"), s.textAt(metadata, "metadata", "namespace")
	labels, _ := metadata["labels"].(map[string]any)
	for key := range labels {
		s.labels[key] = s.textAt(labels, "metadata", "labels", key)
	}
	return s
}

// textAt returns the string at a path of the object. The argument "fields" is the mapping that contains the last key
// of the path.
func (s *Shape) textAt(fields map[string]any, path ...any) shapeText {
	key, _ := path[len(path)-1].(string)
	text, _ := fields[key].(string)
	parameter := slices.IndexFunc(s.parameters, func(p []any) bool { return slices.Equal(p, path) })
	return shapeText{parameter, text}
}

// Fields returns the fields of one object that has this shape. Callers must not change the returned map.
func (s *Shape) Fields() map[string]any { return s.fields }

// Parameters returns the paths of the parameters. Callers must not change the returned paths.
func (s *Shape) Parameters() [][]any { return s.parameters }

// Derive calls the function "derive", and caches the result in the shape under the given key. Later calls with the
// same key return the cached result, so all objects of the shape share the result.
func (s *Shape) Derive(key any, derive func() any) any {
	if known, ok := s.derived.Load(key); ok {
		return known
	}
	derived, _ := s.derived.LoadOrStore(key, derive())
	return derived
}

func (s *Shape) withValues(values []any) map[string]any { return With(s.fields, s.parameters, values) }

// With is the function that replaces the value at each given path in a copy of decoded JSON, and returns the copy. All
// given paths must exist in the decoded JSON. The new values are not copied.
func With(fields map[string]any, paths [][]any, values []any) map[string]any {
	fields = runtime.DeepCopyJSON(fields)
	for i, path := range paths {
		set(fields, path, values[i])
	}
	return fields
}

// At is the function that reads one value from decoded JSON. The argument "path" contains keys (string) and indexes
// (int). If there is no value at the path, the function returns nil.
func At(node any, path []any) any {
	for _, step := range path {
		node = below(node, step)
	}
	return node
}

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
