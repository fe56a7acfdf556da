package constraint

import (
	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/jsonschema"
)

// JSONSchema gives the constraint as a JSON Schema of one scalar. CUE's own export drops
// bounds, so it is written here.
func (c Constraint) JSONSchema() *jsonschema.Schema {
	if len(c.Either) > 0 {
		return c.either()
	}
	s := &jsonschema.Schema{Type: typeName(c.Kind), Enum: c.Enum, MaxLength: c.MaxLength}
	if len(c.Patterns) > 0 {
		s.Pattern = jsonschema.Pattern(c.Patterns[0])
		for _, pattern := range c.Patterns[1:] {
			s.AllOf = append(s.AllOf, &jsonschema.Schema{Pattern: jsonschema.Pattern(pattern)})
		}
	}
	switch {
	case c.Min == nil:
	case c.Min.exclusive:
		s.ExclusiveMinimum = c.Min.value
	default:
		s.Minimum = c.Min.value
	}
	switch {
	case c.Max == nil:
	case c.Max.exclusive:
		s.ExclusiveMaximum = c.Max.value
	default:
		s.Maximum = c.Max.value
	}
	return s
}

func (c Constraint) either() *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if len(c.Enum) > 0 {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Enum: c.Enum})
	}
	for _, alternative := range c.Either {
		s.AnyOf = append(s.AnyOf, alternative.JSONSchema())
	}
	return s
}

func typeName(kind cue.Kind) string {
	switch kind {
	case cue.IntKind:
		return "integer"
	case cue.FloatKind, cue.NumberKind:
		return "number"
	case cue.BoolKind:
		return "boolean"
	case cue.StringKind:
		return "string"
	case cue.ListKind:
		return "array"
	case cue.StructKind:
		return "object"
	default:
		return ""
	}
}
