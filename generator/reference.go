package generator

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/internal/constraint"
)

// Field is one field that a document may have.
type Field struct {
	Path     string `json:"path"`     // such as spec.runtimes.NAME.image; NAME stands for a key that a person chooses, [] for an item of a list
	Want     string `json:"want"`     // what its value must be, in words
	Doc      string `json:"doc"`      // what it means, its unit and its default
	Source   string `json:"source"`   // where its rule comes from
	Required bool   `json:"required"` // whether the mapping that holds it is incomplete without it

	// What it is where it is not given, if that takes no other value of the document to say; nil otherwise.
	Default any `json:"default,omitempty"`
}

// Reference lists every field of the document, each mapping before its fields,
// in the order of the schema.
func (p *Pipeline) Reference() ([]Field, error) {
	e, err := newEngine(p.definitions)
	if err != nil {
		return nil, err
	}
	return describeFields(e.schema, ""), nil
}

func describeFields(schema cue.Value, path string) []Field {
	var found []Field
	for fields := fieldsOf(schema); fields.Next(); {
		selector, value := fields.Selector(), fields.Value()
		f := Field{
			Path:     strings.TrimPrefix(path+"."+selector.Unquoted(), "."),
			Want:     wantOf(value),
			Required: selector.ConstraintType() == cue.RequiredConstraint,
		}
		f.Doc, f.Source = sourceOf(paragraph(value))
		f.Default, _ = defaultOf(value)
		found = append(found, f)
		if inner, step := elementOf(value); step != "" {
			found = append(found, describeFields(inner, f.Path+step)...)
		}
		found = append(found, describeFields(value, f.Path)...)
	}
	return found
}

// nameStep stands for a key that a person chooses, in the path of a field.
const nameStep = ".NAME"

// elementOf is where the fields below a value are: in the items of a list, in
// what stands below a key that a person chooses, or in the value itself.
func elementOf(v cue.Value) (inner cue.Value, step string) {
	if item := v.LookupPath(cue.MakePath(cue.AnyIndex)); item.Exists() {
		return item, "[]"
	}
	if sample := anyField(v); sample.Exists() {
		return sample, nameStep
	}
	if anything := v.LookupPath(cue.MakePath(cue.AnyString)); anything.Exists() {
		return anything, nameStep
	}
	return v, ""
}

// wantOf adds to the words of a constraint what a list or a mapping holds.
func wantOf(v cue.Value) string {
	want := constraint.Of(v).String()
	switch inner, step := elementOf(v); {
	case step == "[]":
		return want + ", each item " + wantOf(inner)
	case step == nameStep && inner.IncompleteKind() != cue.StructKind && fieldsOf(v).Next():
		return want + ", each further value " + wantOf(inner)
	case step == nameStep && inner.IncompleteKind() != cue.StructKind:
		return want + ", each value " + wantOf(inner)
	}
	return want
}

// sourceOf cuts the last sentence off a comment, which says where its rule comes from.
func sourceOf(comment string) (text, source string) {
	text, source, _ = strings.Cut(comment, "Source: ")
	return strings.TrimSpace(text), strings.TrimSuffix(source, ".")
}

// defaultOf is what a field is marked with as @default(VALUE): what it is in a document that says
// nothing of it, and nothing of others that its comment names.
func defaultOf(v cue.Value) (standard any, ok bool) {
	mark := v.Attribute("default")
	if mark.Err() != nil {
		return nil, false
	}
	err := cuecontext.New().CompileString(mark.Contents()).Decode(&standard)
	return standard, err == nil
}

// paragraph is the whole doc comment on one line.
func paragraph(v cue.Value) string {
	var text []string
	for _, group := range v.Doc() {
		text = append(text, strings.Fields(group.Text())...)
	}
	return strings.Join(text, " ")
}
