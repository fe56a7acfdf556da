package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// family is the shapes of requests of one kin. It composes each shape once: two
// inputs have the same shape if they differ in nothing but what @param and @fill
// mark. That is what the marks promise.
type family struct {
	*engine
	described  *descriptions
	groups     []*group
	definition string // which is one for all of a kin
}

// descriptions are what the schema says of fields that are leaves: described once,
// for all families.
type descriptions struct {
	sync.Mutex
	fields map[string]object.Parameter
}

// group is the shapes whose leaves come from the same places.
type group struct {
	sources [][]string        // dotted paths in the input, split
	shown   [][]string        // paths of what nothing but such leaves depends on
	shapes  map[string]*shape // by what is left of the input without the two
}

// shape is one composed object, and what it takes to make others of it.
type shape struct {
	common     *object.Shape
	sources    [][]string // where each leaf's value is in the input
	shown      [][]string // what of the input nothing but leaves depends on
	definition string
	size       int                // of the object without its leaves, as JSON, in bytes
	parameters []object.Parameter // keys relative to what asks for the object
}

// shape returns the shape of what a request asks for.
func (f *family) shape(r request) (*shape, error) {
	for _, g := range f.groups {
		if found := g.find(r.In); found != nil {
			return found, nil
		}
	}
	made, err := f.compose(r)
	if err != nil {
		return nil, err
	}
	f.keep(r.In, made)
	return made, nil
}

func (g *group) find(in map[string]any) *shape {
	for _, source := range g.sources {
		if _, ok := lookup(in, source); !ok {
			return nil
		}
	}
	return g.shapes[g.residue(in)]
}

func (f *family) keep(in map[string]any, made *shape) {
	sources, shown := distinct(made.sources), distinct(made.shown)
	for _, g := range f.groups {
		if slices.EqualFunc(g.sources, sources, slices.Equal) && slices.EqualFunc(g.shown, shown, slices.Equal) {
			g.shapes[g.residue(in)] = made
			return
		}
	}
	g := &group{sources, shown, map[string]*shape{}}
	g.shapes[g.residue(in)] = made
	f.groups = append(f.groups, g)
}

// distinct orders paths, each once.
func distinct(paths [][]string) [][]string {
	return slices.CompactFunc(slices.SortedFunc(slices.Values(paths), slices.Compare), slices.Equal)
}

// residue is what of an input decides on the shape, as canonical JSON.
func (g *group) residue(in map[string]any) string {
	text, _ := json.Marshal(without(in, slices.Concat(g.sources, g.shown))) // plain data always marshals
	return string(text)
}

// without copies as much of an input as it takes to leave out some paths. Items of lists
// leave a gap.
func without(node any, sources [][]string) any {
	below := map[string][][]string{}
	for _, source := range sources {
		below[source[0]] = append(below[source[0]], source[1:])
	}
	switch node := node.(type) {
	case map[string]any:
		left := make(map[string]any, len(node))
		for key, value := range node {
			if value, stays := reduced(value, below[key]); stays {
				left[key] = value
			}
		}
		return left
	case []any:
		left := make([]any, len(node))
		for i, item := range node {
			left[i], _ = reduced(item, below[strconv.Itoa(i)])
		}
		return left
	}
	return node
}

// reduced is what is left of a value without what lies at some paths below it, if
// it is not itself among them.
func reduced(value any, sources [][]string) (left any, stays bool) {
	if slices.ContainsFunc(sources, func(source []string) bool { return len(source) == 0 }) {
		return nil, false
	}
	if len(sources) == 0 {
		return value, true
	}
	return without(value, sources), true
}

// lookup follows a path through an input.
func lookup(in map[string]any, path []string) (any, bool) {
	var node any = in
	for _, key := range path {
		value, ok := child(node, key)
		if !ok {
			return nil, false
		}
		node = value
	}
	return node, true
}

// child is a field of a mapping, or an item of a list.
func child(node any, key string) (any, bool) {
	switch node := node.(type) {
	case map[string]any:
		value, ok := node[key]
		return value, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(node) {
			return nil, false
		}
		return node[i], true
	}
	return nil, false
}

// compose evaluates the maker of what a request asks for.
func (f *family) compose(r request) (*shape, error) {
	makers, err := f.built(r.by)
	if err != nil {
		return nil, err
	}
	made := makers.LookupPath(cue.MakePath(cue.Str("makers"), cue.Str(r.Make))).FillPath(cue.ParsePath("in"), r.In)
	v := made.LookupPath(cue.ParsePath("object"))
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return nil, err
	}
	found := reading{in: r.In}
	fields, err := found.mapping(v, nil)
	if err != nil {
		return nil, err
	}
	if f.definition == "" {
		f.definition = definitionOf(made.LookupPath(cue.ParsePath("definition")))
	}
	result := &shape{definition: f.definition, size: found.size}
	paths := [][]any{}
	for _, leaf := range found.leaves {
		paths = append(paths, leaf.path)
		result.sources = append(result.sources, leaf.source)
		if leaf.of != nil {
			result.shown = append(result.shown, leaf.of)
		}
		if err := f.describe(result, leaf, r.From); err != nil {
			return nil, err
		}
	}
	for _, echo := range found.echoes {
		about, err := f.field(echo.from, echo.key)
		if err != nil {
			return nil, fmt.Errorf("@echo at %v: %w", echo.path, err)
		}
		about.Key, about.Whole, about.Path = problem.Path(echo.from)+"."+echo.key, true, echo.path
		result.parameters = append(result.parameters, about)
	}
	result.common = object.NewShape(fields, paths)
	return result, result.checkLeaves(fields, r.In)
}

// describe makes a parameter of a leaf that the document's author can set. Its
// meaning and schema are those of the document's field.
func (f *family) describe(result *shape, l leaf, from []string) error {
	if l.parameter == "" {
		return nil
	}
	about, err := f.field(from, l.parameter)
	if err != nil {
		return fmt.Errorf("@param(%s) at %v: %w", l.parameter, l.path, err)
	}
	about.Key, about.Path = l.parameter, l.path
	result.parameters = append(result.parameters, about)
	return nil
}

// field describes a field below a part of the document, once for all parts of a kind.
func (f *family) field(from []string, key string) (object.Parameter, error) {
	kind := strings.Join(from[:len(from)-1], ".") + "." + key
	f.described.Lock()
	defer f.described.Unlock()
	if about, ok := f.described.fields[kind]; ok {
		return about, nil
	}
	field := descend(descend(f.schema, from), strings.Split(key, "."))
	if !field.Exists() {
		return object.Parameter{}, errors.New("no such field in the schema")
	}
	schema, err := json.Marshal(constraint.Of(field).JSONSchema())
	if err != nil {
		return object.Parameter{}, fmt.Errorf("writing its schema: %w", err)
	}
	about := object.Parameter{Doc: constraint.Sentence(field), Schema: schema}
	f.described.fields[kind] = about
	return about, nil
}

// checkLeaves holds the marks to their word: a leaf is its source and nothing else.
func (s *shape) checkLeaves(fields map[string]any, in map[string]any) error {
	values, err := s.values(in)
	if err != nil {
		return err
	}
	for i, path := range s.common.Leaves() {
		if got := object.At(fields, path); got != values[i] {
			return fmt.Errorf("leaf %v is %v, and its source %s is %v", path, got, strings.Join(s.sources[i], "."), values[i])
		}
	}
	return nil
}

// values are those of the leaves, for an input.
func (s *shape) values(in map[string]any) ([]any, error) {
	values := slices.Grow([]any(nil), len(s.sources))
	for _, source := range s.sources {
		value, ok := lookup(in, source)
		if !ok {
			return nil, fmt.Errorf("input has no %s, which a leaf needs", strings.Join(source, "."))
		}
		if n, ok := value.(int); ok {
			value = int64(n)
		}
		values = append(values, value)
	}
	return values, nil
}
