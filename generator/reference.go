package generator

import (
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
)

// Field is one field that a document may have.
type Field struct {
	Path     string // such as spec.runtimes.NAME.image; NAME stands for a key that a person chooses
	Want     string // what its value must be, in words
	Doc      string // what it means, its unit and its default
	Required bool   // whether the mapping that holds it is incomplete without it
}

// Reference lists every field of the document, each mapping before its fields,
// in the order of the schema.
func (p *Pipeline) Reference() ([]Field, error) {
	w := &work{}
	if err := p.loadDefinitions(w); err != nil {
		return nil, err
	}
	return describeFields(w.schema, ""), nil
}

func describeFields(schema cue.Value, path string) []Field {
	var found []Field
	for fields := fieldsOf(schema); fields.Next(); {
		selector, value := fields.Selector(), fields.Value()
		f := Field{
			Path:     strings.TrimPrefix(path+"."+selector.Unquoted(), "."),
			Want:     wantOf(value),
			Doc:      paragraph(value),
			Required: selector.ConstraintType() == cue.RequiredConstraint,
		}
		found = append(found, f)
		below := f.Path
		if sample := anyField(value); sample.Exists() {
			value, below = sample, below+".NAME"
		}
		found = append(found, describeFields(value, below)...)
	}
	return found
}

// wantOf adds to the words of a constraint what a list or a mapping holds.
func wantOf(v cue.Value) string {
	want := constraint.Of(v).String()
	if element := v.LookupPath(cue.MakePath(cue.AnyIndex)); element.Exists() {
		return want + ", each " + wantOf(element)
	}
	if sample := anyField(v); sample.Exists() && sample.IncompleteKind() != cue.StructKind {
		return want + " of names to " + strings.TrimPrefix(wantOf(sample), "a ") + "s"
	}
	return want
}

// paragraph is the whole doc comment on one line.
func paragraph(v cue.Value) string {
	var text []string
	for _, group := range v.Doc() {
		text = append(text, strings.Fields(group.Text())...)
	}
	return strings.Join(text, " ")
}
