package constraint

import (
	"encoding/json"

	"github.com/trainyard/trainyard/generator/internal/jsonschema"
)

// JSONSchema returns the constraints of a scalar as JSON Schema. It does not use CUE's own export to JSON
// Schema, which would omit the limits of ranges.
func (c Constraint) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if len(c.Alternatives) > 0 {
		if len(c.Enum) > 0 {
			s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Enum: c.Enum})
		}
		for _, alternative := range c.Alternatives {
			s.AnyOf = append(s.AnyOf, alternative.JSONSchema())
		}
		return s
	}
	s.Enum, s.MaxLength = c.Enum, c.MaxLength
	for _, t := range kindNames {
		if c.Kind == t.kind {
			s.Type = t.name
		}
	}
	for i, pattern := range c.Patterns {
		if i == 0 {
			s.Pattern = jsonschema.Pattern(pattern)
		} else {
			s.AllOf = append(s.AllOf, &jsonschema.Schema{Pattern: jsonschema.Pattern(pattern)})
		}
	}
	for _, pattern := range c.Refused {
		s.AllOf = append(s.AllOf, &jsonschema.Schema{Not: &jsonschema.Schema{Pattern: jsonschema.Pattern(pattern)}})
	}
	c.Min.write(&s.Minimum, &s.ExclusiveMinimum)
	c.Max.write(&s.Maximum, &s.ExclusiveMaximum)
	return s
}

func (b *bound) write(inclusive, exclusive *json.Number) {
	switch {
	case b == nil:
	case b.exclusive:
		*exclusive = b.value
	default:
		*inclusive = b.value
	}
}
