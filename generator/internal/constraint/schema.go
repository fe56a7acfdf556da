package constraint

import "cuelang.org/go/cue"

// JSONSchema gives the constraint as a JSON Schema (draft 2020-12) of one
// scalar. CUE's own export drops bounds, so it is written here.
func (c Constraint) JSONSchema() map[string]any {
	if len(c.Either) > 0 && len(c.Enum) == 0 {
		alternatives := make([]any, len(c.Either))
		for i, alternative := range c.Either {
			alternatives[i] = alternative.JSONSchema()
		}
		return map[string]any{"anyOf": alternatives}
	}
	schema := map[string]any{}
	if name := typeName(c.Kind); name != "" {
		schema["type"] = name
	}
	if len(c.Enum) > 0 {
		schema["enum"] = c.Enum
	}
	if c.Pattern != "" {
		schema["pattern"] = c.Pattern
	}
	c.Min.put(schema, "minimum", "exclusiveMinimum")
	c.Max.put(schema, "maximum", "exclusiveMaximum")
	return schema
}

func (b *bound) put(schema map[string]any, inclusive, exclusive string) {
	switch {
	case b == nil:
	case b.exclusive:
		schema[exclusive] = b.value
	default:
		schema[inclusive] = b.value
	}
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
	default:
		return ""
	}
}
