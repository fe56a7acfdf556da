package shape

import (
	"maps"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
)

// mask is a field mask. A field mask lists the fields that a builder reads from its input.
type mask struct {
	include map[string]any // the fields to include, by name. A field with the value true is included as a whole. A nil map includes all fields
	exclude map[string]any // fields to remove from the included fields
}

type masks map[builder]mask

func maskOf(e *evaluate.Evaluator, by builder) (mask, error) {
	known := *evaluate.Local(e, func() *masks { return &masks{} })
	if m, ok := known[by]; ok {
		return m, nil
	}
	v, err := by.find(e)
	if err != nil {
		return mask{}, err
	}
	var m mask
	for key, into := range map[string]*map[string]any{"include": &m.include, "exclude": &m.exclude} {
		if field := v.LookupPath(cue.MakePath(cue.Str(key))); field.Exists() {
			if err := evaluate.Decode(field, into, "the field mask of "+by.name); err != nil {
				return mask{}, err
			}
		}
	}
	known[by] = m
	return m, nil
}

func (m mask) isAll() bool { return m.include == nil && m.exclude == nil }

func (m mask) apply(input map[string]any) map[string]any {
	if m.include != nil {
		input = include(input, m.include)
	}
	if m.exclude != nil {
		input = exclude(input, m.exclude)
	}
	return input
}

func include(input, fields map[string]any) map[string]any {
	included := map[string]any{}
	for key, below := range fields {
		value, ok := input[key]
		if below, deeper := below.(map[string]any); ok && deeper {
			mapping, _ := value.(map[string]any)
			included[key] = include(mapping, below)
		} else if ok {
			included[key] = value
		}
	}
	return included
}

func exclude(input, fields map[string]any) map[string]any {
	rest := maps.Clone(input)
	for key, below := range fields {
		value, ok := input[key]
		if below, deeper := below.(map[string]any); ok && deeper {
			mapping, _ := value.(map[string]any)
			rest[key] = exclude(mapping, below)
		} else {
			delete(rest, key)
		}
	}
	return rest
}
