package generator

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/jsonschema"
)

// whole tells a mapping that must be complete from one that is laid over others: there, no
// key must be given, and null takes one away. What is in a list is whole even in a layer, because
// layers replace lists.
type whole bool

// Where the schemas are, by their $id. They are found without a network: nothing refers to them.
const (
	schemaID      = "https://trainyard.dev/schemas/v1alpha1/platform.json"
	layerSchemaID = "https://trainyard.dev/schemas/v1alpha1/platform-layer.json"
)

func writeJSONSchema(_ *Pipeline, e *engine, as whole) ([]byte, error) {
	x := exporter{engine: e, at: "#/$defs/"}
	root := x.mapping(e.schema, as)
	root.Dialect, root.ID, root.Title = jsonschema.Dialect, schemaID, "Platform document of trainyard"
	if !as {
		root.ID, root.Title = layerSchemaID, "Layer of a platform document of trainyard"
	}
	describeSchema(root, cue.Dereference(e.schema))
	root.Definitions = &x.definitions
	if err := x.err(); err != nil {
		return nil, err
	}
	return indented(root)
}

// exporter writes our CUE as JSON Schema. What the schema asks by attributes, the checker judges;
// here it becomes keywords, where there are such.
type exporter struct {
	engine      *engine
	at          string // what a reference starts with
	definitions jsonschema.Properties
	unread      []string // constraints that it has no keywords for
}

// err names what could not be written.
func (x *exporter) err() error {
	if len(x.unread) == 0 {
		return nil
	}
	return bug("writing the schema", fmt.Errorf("JSON Schema has no words for %s", strings.Join(x.unread, ", ")))
}

// value is a reference where our CUE has one, or else what the value demands.
func (x *exporter) value(v cue.Value, as whole) *jsonschema.Schema {
	if name := referred(v); name != "" {
		return x.reference(name, as)
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		return x.mapping(v, as)
	case cue.ListKind:
		return x.list(v)
	}
	demanded := constraint.Of(v)
	x.unread = append(x.unread, demanded.Unread...)
	return demanded.JSONSchema()
}

// referred is the name of the definition that a value is, or "".
func referred(v cue.Value) string {
	root, path := v.ReferencePath()
	if steps := path.Selectors(); root.Exists() && len(steps) == 1 && steps[0].IsDefinition() {
		return strings.TrimPrefix(steps[0].String(), "#")
	}
	return ""
}

// reference refers to a definition, and defines it the first time.
func (x *exporter) reference(name string, as whole) *jsonschema.Schema {
	of := definition(x.engine.schema, name)
	key := name
	if of.IncompleteKind() == cue.StructKind && layerOf(of) == "" && !bool(as) {
		key += "Layer"
	}
	if x.definitions.Get(key) == nil {
		x.definitions.Set(key, &jsonschema.Schema{}) // for what refers to itself
		x.definitions.Set(key, x.define(name, of, as))
	}
	return &jsonschema.Schema{Ref: x.at + key}
}

// define writes a definition.
func (x *exporter) define(name string, of cue.Value, as whole) *jsonschema.Schema {
	switch base := layerOf(of); {
	case base != "":
		base := definition(x.engine.schema, base)
		s := x.mapping(base, false)
		s.Properties.Remove(layersOf(base)) // no layer holds layers
		return describeSchema(s, of)
	case of.IncompleteKind() != cue.StructKind:
		s := describeSchema(x.value(of, as), of)
		s.Examples = x.examples(of, s.Description)
		return s
	case bool(as) && layersOf(of) != "":
		return describeSchema(x.unlessLayered(name, of), of)
	}
	return describeSchema(x.mapping(of, as), of)
}

// unlessLayered writes a mapping that holds layers of itself. Where there are any, a key may be
// missing that each of them gives.
func (x *exporter) unlessLayered(name string, of cue.Value) *jsonschema.Schema {
	given, layers := &jsonschema.Properties{}, layersOf(of)
	given.Set(layers, &jsonschema.Schema{Type: "object", MinProperties: 1})
	return &jsonschema.Schema{
		If:   &jsonschema.Schema{Required: []string{layers}, Properties: given},
		Then: x.reference(name, false),
		Else: x.mapping(of, true),
	}
}

// layerOf names the definition that a mapping is a layer of, by its mark @layer(NAME), or is "".
func layerOf(v cue.Value) string {
	mark, ok := markOf(v, "layer")
	if !ok {
		return ""
	}
	return mark.Contents()
}

// layersOf is the field of a mapping that holds layers over it, or "".
func layersOf(v cue.Value) string {
	for fields := fieldsOf(v); fields.Next(); {
		if layerOf(anyField(fields.Value())) != "" {
			return fields.Selector().Unquoted()
		}
	}
	return ""
}

func (x *exporter) mapping(v cue.Value, as whole) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.Never()}
	for fields := fieldsOf(v); fields.Next(); {
		if s.Properties == nil {
			s.Properties = &jsonschema.Properties{}
		}
		selector, value := fields.Selector(), fields.Value()
		s.Properties.Set(selector.Unquoted(), x.field(value, as))
		if selector.ConstraintType() == cue.RequiredConstraint && bool(as) {
			s.Required = append(s.Required, selector.Unquoted())
		}
	}
	if chosen := anyKey(v); chosen.Exists() {
		s.AdditionalProperties = unlessWhole(x.marked(chosen, as), as)
		s.PropertyNames = x.names(v, s.Properties.Names())
		s.MaxProperties = maxKeys
	}
	if mark, ok := markOf(v, "check"); ok && bool(as) {
		if relate := relationSchemas[mark.Contents()]; relate != nil {
			relate(s)
		}
	}
	return s
}

// anyKey is the schema below keys that a person chooses, of a certain form or of any.
func anyKey(v cue.Value) cue.Value {
	if formed := anyField(v); formed.Exists() {
		return formed
	}
	return v.LookupPath(cue.MakePath(cue.AnyString))
}

// names are the keys that a mapping may have beside those known, or nil where any will do.
func (x *exporter) names(v cue.Value, known []string) *jsonschema.Schema {
	keys, ok := markOf(v, "keys")
	if !ok {
		return nil
	}
	form, _ := keys.String(0) // always given
	formed := x.reference(form, true)
	if len(known) == 0 {
		return formed
	}
	either := make([]any, len(known))
	for i, name := range known {
		either[i] = name
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Enum: either}, formed}}
}

func (x *exporter) list(v cue.Value) *jsonschema.Schema {
	element := v.LookupPath(cue.MakePath(cue.AnyIndex))
	return &jsonschema.Schema{Type: "array", Items: x.marked(element, true), MaxItems: maxItems}
}

// field is a value, and what is said of it where it stands. Editors show that, and not what a reference leads to.
func (x *exporter) field(v cue.Value, as whole) *jsonschema.Schema {
	s := describeSchema(unlessWhole(x.marked(v, as), as), v)
	if form := constraint.Of(v).Doc; form != "" {
		s.Description += " Want " + form + "."
	}
	if standard, ok := defaultOf(v); ok && bool(as) {
		s.Default = standard
	}
	return s
}

// marked adds what attributes ask.
func (x *exporter) marked(v cue.Value, as whole) *jsonschema.Schema {
	s, isList := x.value(v, as), v.IncompleteKind() == cue.ListKind
	if mark := v.Attribute("nonempty"); mark.Err() == nil {
		switch {
		case isList:
			s.MinItems = 1
		case bool(as):
			s.MinProperties = 1
		}
	}
	unique := v.Attribute("unique")
	s.UniqueItems = unique.Err() == nil
	return s
}

// unlessWhole lets a layer take a value away.
func unlessWhole(s *jsonschema.Schema, as whole) *jsonschema.Schema {
	if as {
		return s
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
}

// describeSchema says what the doc comment says; where it comes from is for those who read the schema itself.
func describeSchema(s *jsonschema.Schema, v cue.Value) *jsonschema.Schema {
	var source string
	s.Description, source = sourceOf(paragraph(v))
	if source != "" {
		s.Comment = "Source: " + source
	}
	return s
}

// examples are the words of a definition's comment behind "such as" that it admits.
func (x *exporter) examples(of cue.Value, comment string) []any {
	_, list, _ := strings.Cut(comment, " such as ")
	list, _, _ = strings.Cut(list, ": ")
	var found []any
	for _, word := range strings.Split(strings.ReplaceAll(list, " or ", ", "), ", ") {
		word = strings.Trim(word, `"`)
		if word != "" && of.Unify(x.engine.context.Encode(word)).Validate(cue.Concrete(true)) == nil {
			found = append(found, word)
		}
	}
	return found
}
