package check

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
)

// schemas is a cache that belongs to one evaluator. The cache contains the keys of mappings and the properties of
// fields, as read from the CUE schemas of the evaluator. The cache saves time, because a document contains the same
// fields many times.
type schemas struct {
	mappings   map[string]keys     // by the name of a definition
	fields     map[cue.Value]field // descriptions of the definitions' fields
	lastSchema cue.Value           // the last schema that was described; all items of a list share one schema
	lastField  field
}

func newSchemas() *schemas {
	return &schemas{mappings: map[string]keys{}, fields: map[cue.Value]field{}}
}

type keys struct {
	known    map[string]cue.Value
	required []string            // in the schema's order
	aliases  map[string][]string // known keys, by a NAME that authors may use instead, from the attribute @alias(NAME,...)
}

func (s *schemas) keysOf(schema cue.Value) keys {
	name := s.describeField(schema).name
	if found, ok := s.mappings[name]; ok {
		return found
	}
	read := keys{known: map[string]cue.Value{}, aliases: map[string][]string{}}
	for fields := evaluate.Fields(schema); fields.Next(); {
		key := fields.Selector().Unquoted()
		read.known[key] = fields.Value()
		if fields.Selector().ConstraintType() == cue.RequiredConstraint {
			read.required = append(read.required, key)
		}
		mark := fields.Value().Attribute("alias")
		for i := range mark.NumArgs() {
			alias, _ := mark.Arg(i)
			read.aliases[alias] = append(read.aliases[alias], key)
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

// keysBelow searches for a key in the mappings directly below a mapping, and returns the paths of the key, such as
// limits.maxNodes.
func (s *schemas) keysBelow(schema cue.Value, key string) []string {
	var paths []string
	for name, below := range s.keysOf(schema).known {
		if below.IncompleteKind() != cue.StructKind {
			continue
		}
		if _, known := s.keysOf(below).known[key]; known {
			paths = append(paths, name+"."+key)
		}
	}
	slices.Sort(paths)
	return paths
}

type field struct {
	name      string // the name of the field's definition; DEFINITION.KEY if the field has no definition; empty if unknown
	anyString bool   // whether the field admits every string
	quantity  bool   // whether the field is a quantity, which Kubernetes spells in its own way
}

// describeField returns the name and the properties of the field that a schema describes. The result of the last call
// is cached, because callers often ask for the same schema again.
func (s *schemas) describeField(schema cue.Value) field {
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

// readField reads the name and the properties of the field that a schema describes. If the schema refers to a
// definition, the field gets the name of this definition. Otherwise, the field gets the argument "name" as its name.
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
