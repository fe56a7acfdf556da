package generator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// parameters finds the leaves that our CUE marks with @param(key). The key is
// relative to the part of the document that asked for the object; meaning and
// schema are those of the document's field.
func (w *work) parameters(c composed) ([]object.Parameter, error) {
	base := descend(w.schema, c.from)
	var found []object.Parameter
	for leaf := range leaves(c.object, nil) {
		keys := strings.Split(leaf.key, ".")
		field := descend(base, keys)
		if !field.Exists() {
			return nil, fmt.Errorf("@param(%s) at %v: no such field in the schema", leaf.key, leaf.path)
		}
		schema, err := json.Marshal(constraint.Of(field).JSONSchema())
		if err != nil {
			return nil, fmt.Errorf("writing schema of %s: %w", leaf.key, err)
		}
		found = append(found, object.Parameter{
			Key:    problem.Path(slices.Concat(c.from, keys)),
			Path:   leaf.path,
			Doc:    constraint.Sentence(field),
			Schema: schema,
		})
	}
	return found, nil
}

// descend follows keys of the document through its schema.
func descend(schema cue.Value, keys []string) cue.Value {
	for _, key := range keys {
		schema = schema.LookupPath(cue.MakePath(cue.Str(key).Optional()))
	}
	return schema
}
