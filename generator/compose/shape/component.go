package shape

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/object"
)

type builder struct {
	pkg   string // the folder of the package that contains the builder
	field string // "builders" or "components": the package's field that contains the builder
	name  string
}

const (
	objectBuilders    = "builders"
	componentBuilders = "components"
)

var (
	inPath         = cue.ParsePath("in")
	objectPath     = cue.ParsePath("object")
	definitionPath = cue.ParsePath("definition")
)

func (b builder) find(e *evaluate.Evaluator) (cue.Value, error) {
	v, err := e.Package(b.pkg)
	if err != nil {
		return cue.Value{}, err
	}
	if v = v.LookupPath(cue.MakePath(cue.Str(b.field), cue.Str(b.name))); !v.Exists() {
		return cue.Value{}, fmt.Errorf("%s has no %s in %s", b.pkg, b.name, b.field)
	}
	return v, nil
}

// component is an object, or a part of an object such as a container. CUE builds the content of a component in one
// evaluation. The content can have slots, which are positions for other components. CUE leaves the slots empty.
// Composer.assemble copies the component, and fills the slots in the copy. The component itself does not change after
// CUE has built it.
type component struct {
	content    any
	parameters []parameter // in the order in which the fields appear in content
	mirrored   []mirroredParameter
	slots      []slot
	size       int // size of the content without parameters, as JSON, in bytes
	definition string
}

type slot struct {
	path      []any
	component string
}

// Components is a cache of components that several composers share.
type Components struct {
	mutex      sync.Mutex
	components map[builder]*cache[*component]
	fields     map[string]object.Parameter // descriptions of the document's fields
}

// NewComponents returns an empty cache of components.
func NewComponents() *Components {
	return &Components{components: map[builder]*cache[*component]{}, fields: map[string]object.Parameter{}}
}

func (c *Components) find(by builder, input map[string]any) (*component, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, ok := c.components[by]
	if !ok {
		return nil, false
	}
	return known.find(input)
}

// add is the method that stores a component in the cache. If another composer has already stored the same component,
// the new component replaces the stored component.
func (c *Components) add(by builder, input map[string]any, built *component) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.components[by] == nil {
		c.components[by] = &cache[*component]{}
	}
	c.components[by].add(input, built.parameters, built)
}

// assemble returns the component that a builder makes from an input. If this component has slots, assemble returns a
// copy of the component. In the copy, each slot is filled with the component that belongs into the slot.
func (c *Composer) assemble(by builder, input map[string]any) (*component, error) {
	built, err := c.getComponent(by, input)
	if err != nil || len(built.slots) == 0 {
		return built, err
	}
	whole := &component{parameters: slices.Clip(built.parameters), mirrored: slices.Clip(built.mirrored), size: built.size, definition: built.definition}
	var paths [][]any
	var contents []any
	for _, s := range built.slots {
		inner, err := c.assemble(builder{by.pkg, componentBuilders, s.component}, input)
		if err != nil {
			return nil, err
		}
		whole.include(s.path, inner)
		paths, contents = append(paths, s.path), append(contents, inner.content)
	}
	fields, ok := built.content.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("builder %s has a slot for component %s, but does not build a mapping", by.name, built.slots[0].component)
	}
	whole.content = object.With(fields, paths, contents)
	return whole, nil
}

// include adds the parameters, the mirrored parameters and the size of an inner component to the component c.
// The argument "path" is the path of the inner component in c.
func (c *component) include(path []any, inner *component) {
	for _, p := range inner.parameters {
		p.path = slices.Concat(path, p.path)
		c.parameters = append(c.parameters, p)
	}
	for _, m := range inner.mirrored {
		m.path = slices.Concat(path, m.path)
		c.mirrored = append(c.mirrored, m)
	}
	c.size += inner.size
}

// getComponent returns the component that a builder makes from an input. If the builder has a field mask, getComponent
// uses the cache of components. The cache ignores two kinds of input fields: fields that affect only parameters, and
// fields that the builder does not read. Inputs that are equal in all other fields share one cached component.
func (c *Composer) getComponent(by builder, input map[string]any) (*component, error) {
	m, err := maskOf(c.evaluator, by)
	if err != nil {
		return nil, err
	}
	if m.isAll() { // not cached here, because the cache of shapes contains the result
		return c.build(by, input)
	}
	input = m.apply(input)
	if found, ok := c.components.find(by, input); ok {
		return found, nil
	}
	built, err := c.build(by, input)
	if err == nil {
		c.components.add(by, input, built)
	}
	return built, err
}

func (c *Composer) build(by builder, input map[string]any) (*component, error) {
	v, err := by.find(c.evaluator)
	if err != nil {
		return nil, err
	}
	filled := v.FillPath(inPath, input)
	v = filled.LookupPath(objectPath)
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return nil, err
	}
	r := reader{input: input}
	if r.content, err = r.readValue(v, nil, nil); err != nil {
		return nil, err
	}
	if c.definition == "" && by.field == objectBuilders {
		c.definition = positionOf(filled.LookupPath(definitionPath))
	}
	r.definition = c.definition
	built := r.component // a copy that does not keep the input in memory
	return &built, r.checkParameters()
}

func positionOf(v cue.Value) string {
	position := cue.Dereference(v).Pos()
	return fmt.Sprintf("%s:%d:%d", position.Filename()[1:], position.Line(), position.Column())
}

func (r *reader) checkParameters() error {
	for _, p := range r.parameters {
		want, ok := values.Lookup(r.input, p.source)
		if got := object.At(r.content, p.path); !ok || got != asInObject(want) {
			return fmt.Errorf("parameter %v is %v, but its source %s is %v", p.path, got, strings.Join(p.source, "."), want)
		}
	}
	return nil
}
