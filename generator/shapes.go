package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// family is the shapes of requests of one kin. It composes each shape once: two
// inputs have the same shape if they differ in nothing but what @param and @fill
// mark. That is what the marks promise.
type family struct {
	*engine
	pool       *pool
	shapes     memo[*shape]
	definition string // which is one for all of a kin
}

// pool is what all families share.
type pool struct {
	sync.Mutex
	fields map[string]object.Parameter // what the schema says of fields that are leaves
	pieces map[maker]*memo[*piece]
}

func newPool() *pool {
	return &pool{fields: map[string]object.Parameter{}, pieces: map[maker]*memo[*piece]{}}
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
	if found, ok := f.shapes.find(r.In); ok {
		return found, nil
	}
	made, err := f.compose(r)
	if err == nil {
		f.shapes.keep(r.In, made.sources, made.shown, made)
	}
	return made, err
}

// compose makes the shape of what a request asks for.
func (f *family) compose(r request) (*shape, error) {
	made, err := f.assembled(maker{r.by, objectMakers, r.Make}, r.In)
	if err != nil {
		return nil, err
	}
	result := &shape{definition: made.definition, size: made.size}
	paths := [][]any{}
	for _, leaf := range made.leaves {
		paths = append(paths, leaf.path)
		result.sources = append(result.sources, leaf.source)
		if leaf.of != nil {
			result.shown = append(result.shown, leaf.of)
		}
		if err := f.describe(result, leaf, r.From); err != nil {
			return nil, err
		}
	}
	for _, echo := range made.echoes {
		about, err := f.field(echo.from, echo.key)
		if err != nil {
			return nil, fmt.Errorf("@echo at %v: %w", echo.path, err)
		}
		about.Key, about.Whole, about.Path = problem.Path(echo.from)+"."+echo.key, true, echo.path
		result.parameters = append(result.parameters, about)
	}
	values, err := result.values(r.In)
	if err != nil {
		return nil, err
	}
	fields, _ := made.content.(map[string]any) // an object is a mapping
	result.common = object.NewShape(object.With(fields, paths, values), paths)
	return result, nil
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
	f.pool.Lock()
	defer f.pool.Unlock()
	if about, ok := f.pool.fields[kind]; ok {
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
	f.pool.fields[kind] = about
	return about, nil
}

// values are those of the leaves, for an input.
func (s *shape) values(in map[string]any) ([]any, error) {
	values := slices.Grow([]any(nil), len(s.sources))
	for _, source := range s.sources {
		value, ok := lookup(in, source)
		if !ok {
			return nil, fmt.Errorf("input has no %s, which a leaf needs", strings.Join(source, "."))
		}
		values = append(values, asWritten(value))
	}
	return values, nil
}

// asWritten is a scalar of an input as an object has it.
func asWritten(scalar any) any {
	if n, ok := scalar.(int); ok {
		return int64(n)
	}
	return scalar
}
