package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/plan"
	"github.com/trainyard/trainyard/generator/problem"
)

// A Composer builds the shapes for requests. All requests of one Composer have the same builder and the same cache
// group. A Composer builds each shape only once, and reuses the shape for later requests.
type Composer struct {
	evaluator  *evaluate.Evaluator
	components *Components
	shapes     cache[*Shape]
	definition string // position of the CUE definition of the objects, which is the same for all requests of a composer
}

// NewComposer returns a composer that uses the given cache of components. Other composers can use the same cache.
func NewComposer(e *evaluate.Evaluator, components *Components) *Composer {
	return &Composer{evaluator: e, components: components}
}

// Shape is an object without the values of its parameters.
type Shape struct {
	Object     *object.Shape
	Definition string             // position of the CUE definition of the object
	Parameters []object.Parameter // each Key is a path in the object's section of the document, unless Whole is true

	sources [][]string // paths of the input fields from which parameters get their values
	size    int        // size of the object without parameters, as JSON, in bytes
}

// Shape returns the shape of a request's objects.
func (c *Composer) Shape(r plan.Request) (*Shape, error) {
	if found, ok := c.shapes.find(r.Input); ok {
		return found, nil
	}
	built, err := c.assemble(builder{r.Builder.Package, objectBuilders, r.Builder.Name}, r.Input)
	if err != nil {
		return nil, err
	}
	s, err := c.shape(built, r)
	if err == nil {
		c.shapes.add(r.Input, built.parameters, s)
	}
	return s, err
}

func (c *Composer) shape(built *component, r plan.Request) (*Shape, error) {
	s := &Shape{Definition: built.definition, size: built.size}
	paths := [][]any{}
	for _, p := range built.parameters {
		paths = append(paths, p.path)
		s.sources = append(s.sources, p.source)
		if p.field == "" {
			continue
		}
		described, err := c.describe(r.From, p.field)
		if err != nil {
			return nil, fmt.Errorf("@param(%s) at %v: %w", p.field, p.path, err)
		}
		described.Key, described.Path = p.field, p.path
		s.Parameters = append(s.Parameters, described)
	}
	for _, m := range built.mirrored {
		described, err := c.describe(m.from, m.key)
		if err != nil {
			return nil, fmt.Errorf("@mirror at %v: %w", m.path, err)
		}
		described.Key, described.Whole, described.Path = problem.Path(m.from)+"."+m.key, true, m.path
		s.Parameters = append(s.Parameters, described)
	}
	parameters, err := s.Values(r.Input)
	if err != nil {
		return nil, err
	}
	fields, _ := built.content.(map[string]any) // an object is a mapping
	s.Object = object.NewShape(object.With(fields, paths, parameters), paths)
	return s, nil
}

// describe returns the first sentence of a field's doc comment, and the JSON Schema of the field. The result is
// cached for all sections of the same kind, such as all runtimes.
func (c *Composer) describe(section []string, key string) (object.Parameter, error) {
	kind := strings.Join(section[:len(section)-1], ".") + "." + key
	c.components.mutex.Lock()
	defer c.components.mutex.Unlock()
	if known, ok := c.components.fields[kind]; ok {
		return known, nil
	}
	field := evaluate.Descend(evaluate.Descend(c.evaluator.Schema(), section...), strings.Split(key, ".")...)
	if !field.Exists() {
		return object.Parameter{}, errors.New("no such field in the schema")
	}
	schema, err := json.Marshal(constraint.Of(field).JSONSchema())
	if err != nil {
		return object.Parameter{}, fmt.Errorf("writing its schema: %w", err)
	}
	described := object.Parameter{Doc: constraint.Sentence(field), Schema: schema}
	c.components.fields[kind] = described
	return described, nil
}

// Values returns the values that an input gives to the parameters of the shape.
func (s *Shape) Values(input map[string]any) ([]any, error) {
	found := make([]any, 0, len(s.sources))
	for _, source := range s.sources {
		value, ok := values.Lookup(input, source)
		if !ok {
			return nil, fmt.Errorf("the input has no %s, which a parameter needs", strings.Join(source, "."))
		}
		found = append(found, asInObject(value))
	}
	return found, nil
}

// Size returns the approximate size of an object as JSON, in bytes. The argument "parameters" contains the values of
// the object's parameters.
func (s *Shape) Size(parameters []any) int {
	size := s.size
	for _, value := range parameters {
		size += scalarSize(value)
	}
	return size
}

func asInObject(scalar any) any {
	if n, ok := scalar.(int); ok {
		return int64(n)
	}
	return scalar
}
