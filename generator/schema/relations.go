package schema

import (
	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/internal/jsonschema"
)

// relationSchemas contains functions. The key of each function is the name of a check. If a mapping has the attribute
// @check(NAME), the check stage runs the check NAME. This check tests conditions on the mapping. The function with the
// key NAME adds keywords to the JSON Schema of this mapping. These keywords express the conditions in JSON Schema.
// Mappings inside lists must be complete even in a layer. All other mappings of a layer can be incomplete. Therefore
// the schema of a layer contains these keywords only for mappings inside lists. Most conditions concern several fields
// of the mapping. If JSON Schema cannot express a condition, only the check stage reports violations of the condition.
var relationSchemas = map[string]func(*jsonschema.Schema){
	"requirement":      requirementSchema,
	"fieldRequirement": func(s *jsonschema.Schema) { exactlyOne(s.Properties.Get("values")) },
	"nodeTerm": func(s *jsonschema.Schema) {
		s.AnyOf = []*jsonschema.Schema{filledList("matchExpressions"), filledList("matchFields")}
	},
	"podTerm": func(s *jsonschema.Schema) {
		s.DependentRequired = map[string][]string{"matchLabelKeys": {"labelSelector"}, "mismatchLabelKeys": {"labelSelector"}}
	},
	"location": locationSchema,
	"destination": func(s *jsonschema.Schema) {
		s.AnyOf = []*jsonschema.Schema{{Required: []string{"cidrs"}}, {Required: []string{"namespaces"}}}
		locationSchema(s)
	},
	"priorityClass": func(s *jsonschema.Schema) {
		external := withField("external", &jsonschema.Schema{Enum: []any{true}})
		external.Required = []string{"external"}
		s.AnyOf = []*jsonschema.Schema{{Required: []string{"value"}}, external}
	},
}

func locationSchema(s *jsonschema.Schema) {
	if s.Properties.Get("pods") != nil {
		s.DependentRequired = map[string][]string{"pods": {"namespaces"}}
	}
}

// requirementSchema limits the list "values" of an item in "matchExpressions", depending on the operator of the item.
// For example, the operator In needs at least one value.
func requirementSchema(s *jsonschema.Schema) {
	some, none := filledList("values"), withField("values", &jsonschema.Schema{Enum: []any{[]any{}}})
	number := withField("values", exactlyOne(&jsonschema.Schema{Items: &jsonschema.Schema{Pattern: jsonschema.Pattern(check.Digits.String())}}))
	number.Required = some.Required
	for _, c := range []struct {
		operators []any
		then      *jsonschema.Schema
	}{
		{[]any{"In", "NotIn"}, some},
		{[]any{"Exists", "DoesNotExist"}, none},
		{[]any{"Gt", "Lt"}, number},
	} {
		given := withField("operator", &jsonschema.Schema{Enum: c.operators})
		given.Required = []string{"operator"}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: given, Then: c.then})
	}
}

// withField returns a schema that checks one field of a mapping. If a mapping contains the given field, the value
// of the field must match the schema s.
func withField(field string, s *jsonschema.Schema) *jsonschema.Schema {
	properties := &jsonschema.Properties{}
	properties.Set(field, s)
	return &jsonschema.Schema{Properties: properties}
}

func filledList(field string) *jsonschema.Schema {
	s := withField(field, &jsonschema.Schema{MinItems: 1})
	s.Required = []string{field}
	return s
}

func exactlyOne(s *jsonschema.Schema) *jsonschema.Schema {
	s.MinItems, s.MaxItems = 1, 1
	return s
}
