package schema

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/constraint"
)

// Field is one field of a document.
type Field struct {
	Path     string `json:"path"`     // such as spec.runtimes.NAME.image; NAME stands for a key that the author chooses, [] for an item of a list
	Want     string `json:"want"`     // the allowed values, in words
	Doc      string `json:"doc"`      // its meaning, unit and default
	Source   string `json:"source"`   // the origin of its rule
	Required bool   `json:"required"` // whether its mapping is incomplete without it

	// The default, unless it depends on other values of the document; nil if there is none.
	Default any `json:"default,omitempty"`
}

// Fields lists every field of a document in the order of the schema, each mapping before its fields.
func Fields(e *evaluate.Evaluator) []Field { return describeFields(e.Schema(), "") }

func describeFields(schema cue.Value, path string) []Field {
	var found []Field
	for fields := evaluate.Fields(schema); fields.Next(); {
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

// nameStep stands for a key that the author chooses in the path of a field.
const nameStep = ".NAME"

// elementOf returns the schema that has the fields below a value: that of the items of a list, of the values below
// keys that the author chooses, or of the value itself.
func elementOf(v cue.Value) (inner cue.Value, step string) {
	if item := v.LookupPath(cue.MakePath(cue.AnyIndex)); item.Exists() {
		return item, "[]"
	}
	if sample := evaluate.AnyField(v); sample.Exists() {
		return sample, nameStep
	}
	if anything := v.LookupPath(cue.MakePath(cue.AnyString)); anything.Exists() {
		return anything, nameStep
	}
	return v, ""
}

// wantOf describes the allowed values, including those of list items and of chosen keys.
func wantOf(v cue.Value) string {
	want := constraint.Of(v).String()
	switch inner, step := elementOf(v); {
	case step == "[]":
		return want + ", each item " + wantOf(inner)
	case step == nameStep && inner.IncompleteKind() != cue.StructKind && evaluate.Fields(v).Next():
		return want + ", each further value " + wantOf(inner)
	case step == nameStep && inner.IncompleteKind() != cue.StructKind:
		return want + ", each value " + wantOf(inner)
	}
	return want
}

// sourceOf splits a comment from its last sentence, which names the source of the rule.
func sourceOf(comment string) (text, source string) {
	text, source, _ = strings.Cut(comment, "Source: ")
	return strings.TrimSpace(text), strings.TrimSuffix(source, ".")
}

// defaultOf reads @default(VALUE): the value of a field in a document that sets neither the field nor the other
// fields that its comment names.
func defaultOf(v cue.Value) (standard any, ok bool) {
	mark := v.Attribute("default")
	if mark.Err() != nil {
		return nil, false
	}
	err := cuecontext.New().CompileString(mark.Contents()).Decode(&standard)
	return standard, err == nil
}

// paragraph returns a doc comment as one line.
func paragraph(v cue.Value) string {
	var text []string
	for _, group := range v.Doc() {
		text = append(text, strings.Fields(group.Text())...)
	}
	return strings.Join(text, " ")
}
