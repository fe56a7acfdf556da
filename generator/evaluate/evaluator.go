package evaluate

import (
	"fmt"
	"io/fs"
	"reflect"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/problem"
)

// platformPackage is the folder of the CUE package for platform documents (platform.cue). To evaluate a platform
// document, callers set the field "document" in a copy of this package (see Fill).
const platformPackage = "generator/evaluate"

var schemaPath = cue.ParsePath("schema")

// Evaluator holds a CUE context into which the CUE code of trainyard is loaded. Only one goroutine at a time may use an
// Evaluator, because reading one CUE value can change other values of the same context.
type Evaluator struct {
	context     *cue.Context
	definitions *definitions
	packages    map[string]cue.Value
	root        cue.Value // the package into which documents are filled
	local       map[reflect.Type]any
}

// New returns an evaluator that has loaded the CUE package for platform documents. New takes about 15 ms.
func New(files fs.FS) (*Evaluator, error) { return NewOf(files, platformPackage) }

// NewOf returns an evaluator that has loaded the package with the given name. Callers use NewOf for documents that
// are not platform documents.
func NewOf(files fs.FS, name string) (*Evaluator, error) {
	e := &Evaluator{
		context: cuecontext.New(), definitions: newDefinitions(files),
		packages: map[string]cue.Value{}, local: map[reflect.Type]any{},
	}
	var err error
	e.root, err = e.Package(name)
	return e, err
}

// Package returns the CUE package in the folder with the given name, and loads the package on first use.
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

// Root returns the CUE package that the method Fill copies. The returned package itself contains no document. To
// evaluate a document, callers put the document into a copy of this package (see Fill).
func (e *Evaluator) Root() cue.Value { return e.root }

// Schema returns the schema of a whole document.
func (e *Evaluator) Schema() cue.Value { return e.root.LookupPath(schemaPath) }

// Fill returns a copy of the root package in which the given fields have values. For example, callers set the field
// "document" to the plain data of a document.
func (e *Evaluator) Fill(fields map[string]any) cue.Value {
	return e.root.FillPath(cue.Path{}, fields)
}

// Files returns the source files of trainyard's CUE.
func (e *Evaluator) Files() fs.FS { return e.definitions.files }

// Admits reports whether a schema admits a scalar.
func (e *Evaluator) Admits(schema cue.Value, scalar any) bool {
	return schema.Unify(e.context.Encode(scalar)).Validate(cue.Concrete(true)) == nil
}

// Local returns the value of type T that is stored in an evaluator. If the evaluator stores no value of type T,
// Local calls the function "create" and stores the result.
func Local[T any](e *Evaluator, create func() *T) *T {
	key := reflect.TypeFor[T]()
	if known, ok := e.local[key].(*T); ok {
		return known
	}
	created := create()
	e.local[key] = created
	return created
}

// Decode copies a complete CUE value to a Go variable. Each error is a fault (a mistake in trainyard
// itself), because the value comes from trainyard's own CUE.
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

// Fields iterates over the regular, optional and required fields of a struct. If the value is not a struct, the
// iterator is empty.
func Fields(v cue.Value) *cue.Iterator {
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		return &cue.Iterator{}
	}
	return fields
}

// Descend follows a path of keys in a schema, and returns the schema at the end of the path. If a key is missing, the
// method Exists of the result returns false.
func Descend(schema cue.Value, keys ...string) cue.Value {
	for _, key := range keys {
		schema = schema.LookupPath(cue.MakePath(cue.Str(key).Optional()))
	}
	return schema
}

// Mark returns the attribute with the given name. The attribute can be on a field, or on the definition to which the
// field refers.
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

// AnyField returns the schema of the values in a mapping, if the author of the document chooses the keys of the
// mapping. An example is spec.runtimes. The schema of such a mapping has the attribute @keys(FORM,SAMPLE). For other
// mappings, the method Exists of the result returns false.
func AnyField(schema cue.Value) cue.Value {
	keys, ok := Mark(schema, "keys")
	if !ok {
		return cue.Value{}
	}
	sample, _ := keys.String(1)
	return Descend(schema, sample)
}
