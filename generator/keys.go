package generator

import "cuelang.org/go/cue"

// keys are those that a schema names.
type keys struct {
	known    map[string]cue.Value
	required []string // in the schema's order
}

// keysOf lists the keys of a mapping's schema.
func (e *engine) keysOf(schema cue.Value) keys {
	name := e.traitsOf(schema).name
	if found, ok := e.mappings[name]; ok {
		return found
	}
	read := keys{known: map[string]cue.Value{}}
	for fields := fieldsOf(schema); fields.Next(); {
		key := fields.Selector().Unquoted()
		read.known[key] = fields.Value()
		if fields.Selector().ConstraintType() == cue.RequiredConstraint {
			read.required = append(read.required, key)
		}
	}
	if name != "" {
		e.mappings[name] = read
		for key, field := range read.known {
			e.traits[field] = readTraits(field, name+"."+key)
		}
	}
	return read
}

// traits are what the check stage wants to know of a field's schema for each value that it meets.
type traits struct {
	name     string // of the definition that it refers to or, of a field of a definition, that and its key; empty where it has neither
	bare     bool   // whether it takes any string
	quantity bool   // whether it is an amount that Kubernetes spells in its own way
}

// traitsOf reads a schema, unless it is a field of a definition, which was read before, or asked for just
// now, as that of a list's items is.
func (e *engine) traitsOf(schema cue.Value) traits {
	if schema == e.asked {
		return e.told
	}
	known, ok := e.traits[schema]
	if !ok {
		known = readTraits(schema, "")
	}
	e.asked, e.told = schema, known
	return known
}

// readTraits reads a schema, whose name is another if it refers to a definition.
func readTraits(schema cue.Value, name string) traits {
	root, path := schema.ReferencePath()
	if !root.Exists() {
		op, _ := schema.Expr()
		bare := op == cue.NoOp && schema.IncompleteKind() == cue.StringKind && !schema.IsConcrete()
		return traits{name: name, bare: bare}
	}
	mark := root.LookupPath(path).Attribute("quantity")
	return traits{name: path.String(), quantity: mark.Err() == nil}
}
