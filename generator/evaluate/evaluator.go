package evaluate

import (
	"fmt"
	"io/fs"
	"reflect"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/problem"
)

// platformPackage is the package that platform documents are filled into (platform.cue).
const platformPackage = "generator/evaluate"

var schemaPath = cue.ParsePath("schema")

// Evaluator is our CUE in a context of its own. It is for one goroutine: reading a value may complete others.
type Evaluator struct {
	context     *cue.Context
	definitions *definitions
	packages    map[string]cue.Value
	root        cue.Value // the package that documents are filled into
	local       map[reflect.Type]any
}

// New loads the package that platform documents are filled into, which takes some 15 ms.
func New(files fs.FS) (*Evaluator, error) { return NewOf(files, platformPackage) }

// NewOf loads the package that documents of another kind are filled into.
func NewOf(files fs.FS, name string) (*Evaluator, error) {
	e := &Evaluator{
		context: cuecontext.New(), definitions: newDefinitions(files),
		packages: map[string]cue.Value{}, local: map[reflect.Type]any{},
	}
	var err error
	e.root, err = e.Package(name)
	return e, err
}

// Package returns a package by its folder. It is loaded on first use.
func (e *Evaluator) Package(name string) (cue.Value, error) {
	if v, ok := e.packages[name]; ok {
		return v, nil
	}
	instance, err := e.definitions.instance(name)
	if err != nil {
		return cue.Value{}, fmt.Errorf("loading definitions: %w", err)
	}
	v := e.context.BuildInstance(instance)
	if err := v.Err(); err != nil {
		return cue.Value{}, fmt.Errorf("building definitions: %w", err)
	}
	e.packages[name] = v
	return v, nil
}

// Root returns the package that documents are filled into, without a document.
func (e *Evaluator) Root() cue.Value { return e.root }

// Schema returns the schema of a whole document.
func (e *Evaluator) Schema() cue.Value { return e.root.LookupPath(schemaPath) }

// Fill returns the root package with a document, as plain data.
func (e *Evaluator) Fill(fields map[string]any) cue.Value {
	return e.root.FillPath(cue.Path{}, fields)
}

// Files returns the files of our CUE.
func (e *Evaluator) Files() fs.FS { return e.definitions.files }

// Admits reports whether a schema admits a scalar.
func (e *Evaluator) Admits(schema cue.Value, scalar any) bool {
	return schema.Unify(e.context.Encode(scalar)).Validate(cue.Concrete(true)) == nil
}

// Local returns what a stage keeps with an evaluator, such as schemas that it has read. It calls create for
// the first value of a type.
func Local[T any](e *Evaluator, create func() *T) *T {
	key := reflect.TypeFor[T]()
	if known, ok := e.local[key].(*T); ok {
		return known
	}
	created := create()
	e.local[key] = created
	return created
}

// Decode reads plain data from CUE. An error is a fault of trainyard: our CUE yields complete data.
func Decode(v cue.Value, into any, what string) error {
	err := v.Validate(cue.Concrete(true))
	if err == nil {
		err = v.Decode(into)
	}
	if err != nil {
		return problem.Fault("reading "+what, err)
	}
	return nil
}

// Fields iterates over the regular, optional and required fields of a struct. It is empty for other values.
func Fields(v cue.Value) *cue.Iterator {
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		return &cue.Iterator{}
	}
	return fields
}

// Descend follows the keys of a document through its schema.
func Descend(schema cue.Value, keys ...string) cue.Value {
	for _, key := range keys {
		schema = schema.LookupPath(cue.MakePath(cue.Str(key).Optional()))
	}
	return schema
}

// Mark finds an attribute of a field, or of the definition that the field refers to.
func Mark(v cue.Value, name string) (cue.Attribute, bool) {
	declarations := []cue.Value{v}
	if root, path := v.ReferencePath(); root.Exists() {
		declarations = append(declarations, root.LookupPath(path))
	}
	for _, declaration := range declarations {
		for _, mark := range declaration.Attributes(cue.ValueAttr) {
			if mark.Name() == name {
				return mark, true
			}
		}
	}
	return cue.Attribute{}, false
}

// AnyField returns the schema of the values below keys that the author chooses, which @keys(FORM,SAMPLE) marks.
// It does not exist for other mappings.
func AnyField(schema cue.Value) cue.Value {
	keys, ok := Mark(schema, "keys")
	if !ok {
		return cue.Value{}
	}
	sample, _ := keys.String(1)
	return Descend(schema, sample)
}
