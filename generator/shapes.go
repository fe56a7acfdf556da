package generator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	sigsjson "sigs.k8s.io/json"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/object"
)

// shapes composes each shape once. Two inputs have the same shape if they differ
// in nothing but what @param and @fill mark: that is what the marks promise.
type shapes struct {
	definitions cue.Value
	schema      cue.Value
	groups      []*group
}

// group is the shapes of one maker whose leaves come from the same places.
type group struct {
	maker   string
	sources [][]string        // dotted paths in the input, split
	shapes  map[string]*shape // by what is left of the input without the sources
}

// shape is one composed object, and what it takes to make others of it.
type shape struct {
	common     *object.Shape
	sources    [][]string // where each leaf's value is in the input
	definition string
	size       int                // of the object, as JSON
	parameters []object.Parameter // keys relative to what asks for the object
}

// of returns the shape of an input, which part of the document asks for.
func (s *shapes) of(maker string, in map[string]any, from []string) (*shape, error) {
	for _, g := range s.groups {
		if found := g.find(maker, in); found != nil {
			return found, nil
		}
	}
	made, err := s.compose(maker, in, from)
	if err != nil {
		return nil, err
	}
	s.keep(maker, in, made)
	return made, nil
}

func (g *group) find(maker string, in map[string]any) *shape {
	if g.maker != maker {
		return nil
	}
	for _, source := range g.sources {
		if _, ok := lookup(in, source); !ok {
			return nil
		}
	}
	return g.shapes[residue(in, g.sources)]
}

func (s *shapes) keep(maker string, in map[string]any, made *shape) {
	sources := slices.CompactFunc(slices.SortedFunc(slices.Values(made.sources), slices.Compare), slices.Equal)
	for _, g := range s.groups {
		if g.maker == maker && slices.EqualFunc(g.sources, sources, slices.Equal) {
			g.shapes[residue(in, sources)] = made
			return
		}
	}
	s.groups = append(s.groups, &group{maker, sources, map[string]*shape{residue(in, sources): made}})
}

// residue is an input without some of its values, as canonical JSON.
func residue(in map[string]any, sources [][]string) string {
	text, _ := json.Marshal(without(in, sources)) // plain data always marshals
	return string(text)
}

// without copies as much of an input as it takes to leave out some paths.
func without(in map[string]any, sources [][]string) map[string]any {
	left := make(map[string]any, len(in))
	for key, value := range in {
		below, gone := [][]string(nil), false
		for _, source := range sources {
			if source[0] == key {
				gone = gone || len(source) == 1
				below = append(below, source[1:])
			}
		}
		switch inner, ok := value.(map[string]any); {
		case gone:
		case ok && len(below) > 0:
			left[key] = without(inner, below)
		default:
			left[key] = value
		}
	}
	return left
}

// lookup follows a path through an input.
func lookup(in map[string]any, path []string) (any, bool) {
	var node any = in
	for _, key := range path {
		fields, _ := node.(map[string]any)
		value, ok := fields[key]
		if !ok {
			return nil, false
		}
		node = value
	}
	return node, true
}

// compose evaluates a maker.
func (s *shapes) compose(maker string, in map[string]any, from []string) (*shape, error) {
	made := s.definitions.LookupPath(cue.MakePath(cue.Str("makers"), cue.Str(maker))).FillPath(cue.ParsePath("in"), in)
	v := made.LookupPath(cue.ParsePath("object"))
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return nil, err
	}
	text, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(text, &fields); err != nil {
		return nil, err
	}
	result := &shape{definition: definitionOf(made.LookupPath(cue.ParsePath("definition"))), size: len(text)}
	paths := [][]any{}
	for leaf := range leaves(v, nil) {
		paths = append(paths, leaf.path)
		result.sources = append(result.sources, leaf.source)
		if err := s.describe(result, leaf, from); err != nil {
			return nil, err
		}
	}
	result.common = object.NewShape(fields, paths)
	return result, result.checkLeaves(fields, in)
}

// describe makes a parameter of a leaf that the document's author can set. Its
// meaning and schema are those of the document's field.
func (s *shapes) describe(result *shape, l leaf, from []string) error {
	if l.parameter == "" {
		return nil
	}
	field := descend(descend(s.schema, from), strings.Split(l.parameter, "."))
	if !field.Exists() {
		return fmt.Errorf("@param(%s) at %v: no such field in the schema", l.parameter, l.path)
	}
	schema, err := json.Marshal(constraint.Of(field).JSONSchema())
	if err != nil {
		return fmt.Errorf("writing schema of %s: %w", l.parameter, err)
	}
	result.parameters = append(result.parameters, object.Parameter{
		Key:    l.parameter,
		Path:   l.path,
		Doc:    constraint.Sentence(field),
		Schema: schema,
	})
	return nil
}

// checkLeaves holds the marks to their word: a leaf is its source and nothing else.
func (s *shape) checkLeaves(fields map[string]any, in map[string]any) error {
	values, err := s.values(in)
	if err != nil {
		return err
	}
	for i, path := range s.common.Leaves() {
		if got := follow(fields, path); got != values[i] {
			return fmt.Errorf("leaf %v is %v, and its source %s is %v", path, got, strings.Join(s.sources[i], "."), values[i])
		}
	}
	return nil
}

// values are those of the leaves, for an input.
func (s *shape) values(in map[string]any) ([]any, error) {
	values := make([]any, len(s.sources))
	for i, source := range s.sources {
		value, ok := lookup(in, source)
		if !ok {
			return nil, fmt.Errorf("input has no %s, which a leaf needs", strings.Join(source, "."))
		}
		if n, ok := value.(int); ok {
			value = int64(n)
		}
		values[i] = value
	}
	return values, nil
}

// follow finds the value at a path of keys and indexes.
func follow(node any, path []any) any {
	for _, step := range path {
		switch at := step.(type) {
		case string:
			fields, _ := node.(map[string]any)
			node = fields[at]
		case int:
			items, _ := node.([]any)
			node = items[at]
		}
	}
	return node
}
