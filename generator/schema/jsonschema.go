package schema

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/jsonschema"
	"github.com/trainyard/trainyard/generator/problem"
)

// The values of the keyword $id in the exported JSON Schemas. No schema refers to another schema by $id, so no tool
// has to download a schema.
const (
	schemaID      = "https://trainyard.dev/schemas/v1alpha1/platform.json"
	layerSchemaID = "https://trainyard.dev/schemas/v1alpha1/platform-layer.json"
)

func writeJSONSchema(e *evaluate.Evaluator, complete bool) ([]byte, error) {
	x := exporter{evaluator: e, at: "#/$defs/"}
	root := x.mapping(e.Schema(), complete)
	root.Dialect, root.ID, root.Title = jsonschema.Dialect, schemaID, "Platform document of trainyard"
	if !complete {
		root.ID, root.Title = layerSchemaID, "Layer of a platform document of trainyard"
	}
	describeSchema(root, cue.Dereference(e.Schema()))
	root.Definitions = &x.definitions
	if err := x.err(); err != nil {
		return nil, err
	}
	return writeIndented(root)
}

// exporter writes the CUE schema as JSON Schema. A CUE attribute becomes a keyword if JSON Schema has an equivalent
// keyword. The check stage checks every attribute, even if JSON Schema has no keyword for it.
//
// Each exported schema describes either a complete mapping or a layer. In a layer, no key is required, and null
// removes a key. Even in a layer, all items of lists must be complete, because a layer replaces whole lists.
type exporter struct {
	evaluator   *evaluate.Evaluator
	at          string // the prefix of references
	definitions jsonschema.Properties
	unread      []string // constraints without equivalent keywords
}

func (x *exporter) err() error {
	if len(x.unread) == 0 {
		return nil
	}
	return problem.Fault("writing the schema", fmt.Errorf("JSON Schema has no keyword for %s", strings.Join(x.unread, ", ")))
}

// valueSchema returns the JSON Schema of a CUE value. If the CUE value refers to a definition, the result is a
// reference.
func (x *exporter) valueSchema(v cue.Value, complete bool) *jsonschema.Schema {
	if name := referred(v); name != "" {
		return x.addReference(name, complete)
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		return x.mapping(v, complete)
	case cue.ListKind:
		return x.list(v)
	}
	demanded := constraint.Of(v)
	x.unread = append(x.unread, demanded.Unsupported...)
	return demanded.JSONSchema()
}

func referred(v cue.Value) string {
	root, path := v.ReferencePath()
	if steps := path.Selectors(); root.Exists() && len(steps) == 1 && steps[0].IsDefinition() {
		return strings.TrimPrefix(steps[0].String(), "#")
	}
	return ""
}

// addReference returns a reference to a definition, and writes the definition on first use.
func (x *exporter) addReference(name string, complete bool) *jsonschema.Schema {
	of := definition(x.evaluator.Schema(), name)
	key := name
	if of.IncompleteKind() == cue.StructKind && readLayerName(of) == "" && !complete {
		key += "Layer"
	}
	if x.definitions.Get(key) == nil {
		x.definitions.Set(key, &jsonschema.Schema{}) // ends the recursion for definitions that refer to themselves
		x.definitions.Set(key, x.define(name, of, complete))
	}
	return &jsonschema.Schema{Ref: x.at + key}
}

func (x *exporter) define(name string, of cue.Value, complete bool) *jsonschema.Schema {
	switch base := readLayerName(of); {
	case base != "":
		base := definition(x.evaluator.Schema(), base)
		s := x.mapping(base, false)
		s.Properties.Remove(layersField(base)) // a layer cannot contain layers
		return describeSchema(s, of)
	case of.IncompleteKind() != cue.StructKind:
		s := describeSchema(x.valueSchema(of, complete), of)
		s.Examples = x.listExamples(of, s.Description)
		return s
	case complete && layersField(of) != "":
		return describeSchema(x.unlessLayered(name, of), of)
	}
	return describeSchema(x.mapping(of, complete), of)
}

// unlessLayered returns the schema of a mapping in which one field contains layers. These layers can override the other
// fields of the mapping. For example, the field "environments" of "spec" contains environments, and each environment is
// a layer of "spec". If the field with the layers is not empty, the mapping may omit required keys, because the layers
// can set these keys.
func (x *exporter) unlessLayered(name string, of cue.Value) *jsonschema.Schema {
	given, layers := &jsonschema.Properties{}, layersField(of)
	given.Set(layers, &jsonschema.Schema{Type: "object", MinProperties: 1})
	return &jsonschema.Schema{
		If:   &jsonschema.Schema{Required: []string{layers}, Properties: given},
		Then: x.addReference(name, false),
		Else: x.mapping(of, true),
	}
}

// readLayerName returns the NAME in the attribute @layer(NAME) of a mapping, or "" if the mapping has no such
// attribute. The attribute @layer(NAME) states that a mapping is a layer of the definition NAME.
func readLayerName(v cue.Value) string {
	mark, ok := evaluate.Mark(v, "layer")
	if !ok {
		return ""
	}
	return mark.Contents()
}

// layersField returns the name of the field in which a mapping contains its own layers. For the mapping "spec", this
// field is "environments". If no field of the mapping contains layers, layersField returns "".
func layersField(v cue.Value) string {
	for fields := evaluate.Fields(v); fields.Next(); {
		if readLayerName(evaluate.AnyField(fields.Value())) != "" {
			return fields.Selector().Unquoted()
		}
	}
	return ""
}

func (x *exporter) mapping(v cue.Value, complete bool) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.Never()}
	for fields := evaluate.Fields(v); fields.Next(); {
		if s.Properties == nil {
			s.Properties = &jsonschema.Properties{}
		}
		selector, value := fields.Selector(), fields.Value()
		s.Properties.Set(selector.Unquoted(), x.fieldSchema(value, complete))
		if selector.ConstraintType() == cue.RequiredConstraint && complete {
			s.Required = append(s.Required, selector.Unquoted())
		}
	}
	if chosen := anyKey(v); chosen.Exists() {
		s.AdditionalProperties = orNull(x.markedSchema(chosen, complete), complete)
		s.PropertyNames = x.keySchema(v, s.Properties.Names())
		s.MaxProperties = check.MaxKeys
	}
	if mark, ok := evaluate.Mark(v, "check"); ok && complete {
		if relate := relationSchemas[mark.Contents()]; relate != nil {
			relate(s)
		}
	}
	return s
}

func anyKey(v cue.Value) cue.Value {
	if formed := evaluate.AnyField(v); formed.Exists() {
		return formed
	}
	return v.LookupPath(cue.MakePath(cue.AnyString))
}

// keySchema returns the schema of a mapping's keys, or nil if any key is allowed.
func (x *exporter) keySchema(v cue.Value, known []string) *jsonschema.Schema {
	keys, ok := evaluate.Mark(v, "keys")
	if !ok {
		return nil
	}
	form, _ := keys.String(0) // cannot fail, because the attribute @keys always has an argument
	formed := x.addReference(form, true)
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
	return &jsonschema.Schema{Type: "array", Items: x.markedSchema(element, true), MaxItems: check.MaxItems}
}

// fieldSchema returns the schema of a field. The schema contains the field's own description. Without this description,
// text editors would show the description of the definition to which the field refers.
func (x *exporter) fieldSchema(v cue.Value, complete bool) *jsonschema.Schema {
	s := describeSchema(orNull(x.markedSchema(v, complete), complete), v)
	if form := constraint.Of(v).Doc; form != "" {
		s.Description += " Want " + form + "."
	}
	if standard, ok := readDefault(v); ok && complete {
		s.Default = standard
	}
	return s
}

// markedSchema returns the schema of a value, with keywords for the attributes @nonempty() and @unique().
func (x *exporter) markedSchema(v cue.Value, complete bool) *jsonschema.Schema {
	s, isList := x.valueSchema(v, complete), v.IncompleteKind() == cue.ListKind
	if mark := v.Attribute("nonempty"); mark.Err() == nil {
		switch {
		case isList:
			s.MinItems = 1
		case complete:
			s.MinProperties = 1
		}
	}
	unique := v.Attribute("unique")
	s.UniqueItems = unique.Err() == nil
	return s
}

// orNull adds null to the values that the schema of a layer allows, because null in a layer removes a value.
func orNull(s *jsonschema.Schema, complete bool) *jsonschema.Schema {
	if complete {
		return s
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
}

func describeSchema(s *jsonschema.Schema, v cue.Value) *jsonschema.Schema {
	var source string
	s.Description, source = splitSource(paragraph(v))
	if source != "" {
		s.Comment = "Source: " + source
	}
	return s
}

// listExamples returns the examples that follow "such as" in the comment of a definition. It leaves out words that are
// not valid values of the definition.
func (x *exporter) listExamples(of cue.Value, comment string) []any {
	_, list, _ := strings.Cut(comment, " such as ")
	list, _, _ = strings.Cut(list, ": ")
	var found []any
	for _, word := range strings.Split(strings.ReplaceAll(list, " or ", ", "), ", ") {
		word = strings.Trim(word, `"`)
		if word != "" && x.evaluator.Admits(of, word) {
			found = append(found, word)
		}
	}
	return found
}
