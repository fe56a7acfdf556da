package runtimevet

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// checkTypes reports two kinds of errors: unknown fields, and values with a wrong type. Strict decoding into Trainer's
// Go type would find the same errors, but not their positions. checkTypes compares each runtime with the type
// ClusterTrainingRuntime, because a TrainingRuntime has the same fields.
func (p *pass) checkTypes() {
	p.compare(p.root, reflect.TypeFor[trainer.ClusterTrainingRuntime]())
}

func (p *pass) compare(v value, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := t.Kind(); {
	case !v.isSet():
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		p.compareScalar(v, t)
	case kind == reflect.Struct && v.node.Kind == document.Mapping:
		p.compareFields(v, fieldTypes(t))
	case kind == reflect.Map && v.node.Kind == document.Mapping:
		p.compareAll(v.fields(), t.Elem())
	case kind == reflect.Slice && v.node.Kind == document.List:
		p.compareAll(v.listItems(), t.Elem())
	default:
		p.compareScalar(v, t)
	}
}

func (p *pass) compareAll(values []value, t reflect.Type) {
	for _, v := range values {
		p.compare(v, t)
	}
}

func (p *pass) compareFields(v value, known map[string]reflect.Type) {
	for i, child := range v.fields() {
		if t, ok := known[child.key()]; ok {
			p.compare(child, t)
			continue
		}
		child.at = v.node.Fields[i].Position
		p.rule = unknownField
		p.note(child, "Trainer 2.3 has no field %s here, so the cluster drops the field or refuses the runtime: %s",
			message.Quote(child.key()), p.suggestion(child.key(), known))
		p.unknown++
	}
}

// maxSuggestions is the maximum number of unknown fields for which a note suggests a field name. Each search for a
// similar name takes time.
const maxSuggestions = 100

func (p *pass) suggestion(key string, known map[string]reflect.Type) string {
	if p.unknown < maxSuggestions && message.Plain(key) {
		if nearest := message.Nearest(key, slices.Sorted(maps.Keys(known))); nearest != "" {
			return "did you mean " + message.Quote(nearest) + "? Otherwise leave it out"
		}
	}
	return "leave it out"
}

// fieldTypes maps the JSON name of each field in a struct to the field's type. The fields of inlined structs are
// included.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case key == "-":
		case field.Anonymous && key == "":
			maps.Copy(types, fieldTypes(field.Type))
		case key != "":
			types[key] = field.Type
		}
	}
	return types
}

func (p *pass) compareScalar(v value, t reflect.Type) {
	if !decodes(v.node, t) {
		p.rule = wrongType
		p.addProblem(v, "the API server refuses %s here: write %s", problem.Describe(v.node.Plain()), wanted(t))
		p.wrongTypes[pathKey(v.path)] = true
	}
}

// hugeExponent matches quantities that take minutes to parse. No real quantity has an exponent of three or more digits.
var hugeExponent = regexp.MustCompile(`[eE][-+]?[0-9]{3,}$`)

func decodes(n *document.Node, t reflect.Type) bool {
	if t == reflect.TypeFor[resource.Quantity]() && hugeExponent.MatchString(n.AsString()) {
		return false
	}
	text, err := json.Marshal(n.Plain())
	return err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil
}

func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "a quantity such as 4 or 16Gi"
	case reflect.TypeFor[intstr.IntOrString]():
		return "an integer or a name"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2026-01-31T12:00:00Z"
	}
	switch t.Kind() {
	case reflect.String:
		return "text, in quotes if it looks like a number or a boolean"
	case reflect.Bool:
		return "true or false, without quotes"
	case reflect.Int32:
		return "an integer, without quotes and up to 2147483647"
	case reflect.Int64:
		return "an integer, without quotes"
	case reflect.Slice:
		return "a list"
	}
	return "a mapping"
}
