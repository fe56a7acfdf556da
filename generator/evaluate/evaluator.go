package evaluate

import (
	"fmt"
	"io/fs"
	"reflect"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/problem"
)

// platformPackage is the CUE package into which platform documents are filled (platform.cue).
const platformPackage = "generator/evaluate"

var schemaPath = cue.ParsePath("schema")

// Evaluator is the CUE of trainyard in a CUE context of its own. Only one goroutine at a time may use an Evaluator, because
// CUE may change a value while a goroutine only reads another value.
type Evaluator struct {
	context     *cue.Context
	definitions *definitions
	packages    map[string]cue.Value
	root        cue.Value // the package into which documents are filled
	local       map[reflect.Type]any
}

// New returns an evaluator that has loaded the package into which platform documents are filled. Loading takes about 15 ms.
func New(files fs.FS) (*Evaluator, error) { return NewOf(files, platformPackage) }

// NewOf returns an evaluator that has loaded another package, for documents that are not platform documents.
func NewOf(files fs.FS, name string) (*Evaluator, error) {
	e := &Evaluator{
		context: cuecontext.New(), definitions: newDefinitions(files),
		packages: map[string]cue.Value{}, local: map[reflect.Type]any{},
	}
	var err error
	e.root, err = e.Package(name)
	return e, err
}

// Package returns the package in a folder, and loads this package on first use.
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

// Root returns the package into which documents are filled, before a document is filled in.
func (e *Evaluator) Root() cue.Value { return e.root }

// Schema returns the schema of a whole document.
func (e *Evaluator) Schema() cue.Value { return e.root.LookupPath(schemaPath) }

// Fill returns the root package with the given fields filled in, such as a document as plain data.
func (e *Evaluator) Fill(fields map[string]any) cue.Value {
	return e.root.FillPath(cue.Path{}, fields)
}

// Files returns the source files of trainyard's CUE.
func (e *Evaluator) Files() fs.FS { return e.definitions.files }

// Admits reports whether a schema admits a scalar.
func (e *Evaluator) Admits(schema cue.Value, scalar any) bool {
	return schema.Unify(e.context.Encode(scalar)).Validate(cue.Concrete(true)) == nil
}

// Local returns the value of type T that a stage stores in an evaluator, such as the schemas that the stage has read. If the
// evaluator has no value of this type yet, Local stores the result of create.
func Local[T any](e *Evaluator, create func() *T) *T {
	key := reflect.TypeFor[T]()
	if known, ok := e.local[key].(*T); ok {
		return known
	}
	created := create()
	e.local[key] = created
	return created
}

// Decode reads plain data from CUE. An error is a mistake in trainyard itself, because its CUE must yield complete data.
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

// Fields iterates over the regular, optional and required fields of a struct. For any other value, the iterator is empty.
func Fields(v cue.Value) *cue.Iterator {
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		return &cue.Iterator{}
	}
	return fields
}

// Descend returns the schema of the value at a path of keys, or a value that does not exist if the schema has no such key.
func Descend(schema cue.Value, keys ...string) cue.Value {
	for _, key := range keys {
		schema = schema.LookupPath(cue.MakePath(cue.Str(key).Optional()))
	}
	return schema
}

// Mark returns the attribute with a name, of a field or of the definition to which the field refers.
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

// AnyField returns the schema of the values below keys that the author chooses. The attribute @keys(FORM,SAMPLE) marks
// mappings with such keys. For other mappings, AnyField returns a value that does not exist.
func AnyField(schema cue.Value) cue.Value {
	keys, ok := Mark(schema, "keys")
	if !ok {
		return cue.Value{}
	}
	sample, _ := keys.String(1)
	return Descend(schema, sample)
}
