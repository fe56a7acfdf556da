package check

import (
	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
)

// schemas caches descriptions of schemas for one evaluator, because fields of definitions are checked many times.
type schemas struct {
	mappings   map[string]keys     // by the name of a definition
	fields     map[cue.Value]field // the fields of these definitions
	lastSchema cue.Value           // the schema that was described last, such as the schema of the items of a list
	lastField  field
}

func newSchemas() *schemas {
	return &schemas{mappings: map[string]keys{}, fields: map[cue.Value]field{}}
}

// keys are the keys that the schema of a mapping defines.
type keys struct {
	known    map[string]cue.Value
	required []string // in the schema's order
}

// keysOf lists the keys of a mapping's schema.
func (s *schemas) keysOf(schema cue.Value) keys {
	name := s.fieldOf(schema).name
	if found, ok := s.mappings[name]; ok {
		return found
	}
	read := keys{known: map[string]cue.Value{}}
	for fields := evaluate.Fields(schema); fields.Next(); {
		key := fields.Selector().Unquoted()
		read.known[key] = fields.Value()
		if fields.Selector().ConstraintType() == cue.RequiredConstraint {
			read.required = append(read.required, key)
		}
	}
	if name != "" {
		s.mappings[name] = read
		for key, value := range read.known {
			s.fields[value] = readField(value, name+"."+key)
		}
	}
	return read
}

// field holds the properties of a field's schema that the check stage needs often.
type field struct {
	name      string // the definition to which the field refers, or else the definition and key of the field; empty for neither
	anyString bool   // whether the field admits every string
	quantity  bool   // whether the field is a quantity, which Kubernetes spells in its own way
}

// fieldOf returns the description of a schema. The descriptions of all fields of definitions are cached. The last description
// is also cached, because callers often pass the same schema several times in succession.
func (s *schemas) fieldOf(schema cue.Value) field {
	if schema == s.lastSchema {
		return s.lastField
	}
	known, ok := s.fields[schema]
	if !ok {
		known = readField(schema, "")
	}
	s.lastSchema, s.lastField = schema, known
	return known
}

// readField reads the description of a schema. If the schema refers to a definition, the description contains the name of
// that definition instead of the argument name.
func readField(schema cue.Value, name string) field {
	root, path := schema.ReferencePath()
	if !root.Exists() {
		op, _ := schema.Expr()
		anyString := op == cue.NoOp && schema.IncompleteKind() == cue.StringKind && !schema.IsConcrete()
		return field{name: name, anyString: anyString}
	}
	mark := root.LookupPath(path).Attribute("quantity")
	return field{name: path.String(), quantity: mark.Err() == nil}
}
