package schema

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/constraint"
)

// Field describes one field of a document.
type Field struct {
	Path     string `json:"path"`     // such as spec.runtimes.NAME.image; NAME stands for a key that the author chooses, [] for an item of a list
	Want     string `json:"want"`     // the allowed values, in words
	Doc      string `json:"doc"`      // the meaning, unit and default of the field
	Source   string `json:"source"`   // the rule of another project on which the limits of the field are based, if any
	Required bool   `json:"required"` // whether the parent mapping must set this field

	// Default is nil if the field has no attribute @default. If the default depends on other values of the document,
	// the description in the field "Doc" says so.
	Default any `json:"default,omitempty"`
}

// Fields is the function that describes all fields that a document can have, in the order of the schema. The
// description of a mapping precedes the descriptions of the fields in this mapping.
func Fields(e *evaluate.Evaluator) []Field { return describeFields(e.Schema(), "") }

func describeFields(schema cue.Value, path string) []Field {
	var found []Field
	for fields := evaluate.Fields(schema); fields.Next(); {
		selector, value := fields.Selector(), fields.Value()
		f := Field{
			Path:     strings.TrimPrefix(path+"."+selector.Unquoted(), "."),
			Want:     describeAllowed(value),
			Required: selector.ConstraintType() == cue.RequiredConstraint,
		}
		f.Doc, f.Source = splitSource(paragraph(value))
		f.Default, _ = readDefault(value)
		found = append(found, f)
		if inner, step := elementSchema(value); step != "" {
			found = append(found, describeFields(inner, f.Path+step)...)
		}
		found = append(found, describeFields(value, f.Path)...)
	}
	return found
}

// nameStep stands for any key that the author of the document chooses, as in the path spec.runtimes.NAME.image.
const nameStep = ".NAME"

// elementSchema returns the schema of the elements of a list or mapping. For a list, the result is the schema of its
// items. For a mapping with keys that the author chooses, the result is the schema of the mapping's values. For any
// other value, the result is the value itself.
func elementSchema(v cue.Value) (inner cue.Value, step string) {
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

// describeAllowed describes the values that the schema of a field allows. For a list, the description also says which
// items are allowed. In some mappings, the author chooses the keys. For such a mapping, the description also says which
// values the author may write after these keys. But if each of these values must itself be a mapping, the description
// does not mention the values.
func describeAllowed(v cue.Value) string {
	want := constraint.Of(v).String()
	switch inner, step := elementSchema(v); {
	case step == "[]":
		return want + ", each item " + describeAllowed(inner)
	case step == nameStep && inner.IncompleteKind() != cue.StructKind && evaluate.Fields(v).Next():
		return want + ", each further value " + describeAllowed(inner)
	case step == nameStep && inner.IncompleteKind() != cue.StructKind:
		return want + ", each value " + describeAllowed(inner)
	}
	return want
}

// splitSource splits the comment of a field into its text and its source. The source is the part of the comment after
// "Source:". The source says on what the field is based, which is usually a part of another project. An example is the
// source "Helm, Chart.yaml version". splitSource omits the part of the text after "Requirement:", which is only for
// developers: it contains numbers of trainyard's own requirements.
func splitSource(comment string) (text, source string) {
	text, source, _ = strings.Cut(comment, "Source: ")
	text, _, _ = strings.Cut(text, "Requirement: ")
	return strings.TrimSpace(text), strings.TrimSuffix(source, ".")
}

// readDefault returns the default of a field from its attribute @default(VALUE). If the default depends on other
// fields, the comment of the field says so.
func readDefault(v cue.Value) (standard any, ok bool) {
	mark := v.Attribute("default")
	if mark.Err() != nil {
		return nil, false
	}
	err := cuecontext.New().CompileString(mark.Contents()).Decode(&standard)
	return standard, err == nil
}

func paragraph(v cue.Value) string {
	var text []string
	for _, group := range v.Doc() {
		text = append(text, strings.Fields(group.Text())...)
	}
	return strings.Join(text, " ")
}
