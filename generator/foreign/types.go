package foreign

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// wrongType is the one rule whose findings make others beside the point.
const wrongType = "type"

// misfits is what a document has that upstream's Go types cannot hold. It finds
// what strict decoding finds, but all of it at once, and knows where it stands.
type misfits struct {
	wrong, unknown []finding
	spoilt         map[string]bool // paths of what is wrong
}

// compare holds a document against upstream's type. Both kinds of runtime have one shape.
func compare(v value) misfits {
	m := misfits{spoilt: map[string]bool{}}
	m.compare(v, reflect.TypeFor[trainer.ClusterTrainingRuntime]())
	for _, f := range m.wrong {
		m.spoilt[flat(f.path)] = true
	}
	return m
}

// spoils tells whether the value at a path, or one that it lies in, is of a wrong type.
func (m misfits) spoils(path []string) bool {
	for end := range path {
		if m.spoilt[flat(path[:end+1])] {
			return true
		}
	}
	return false
}

func flat(path []string) string { return strings.Join(path, "\x00") }

func wrongTypes(r runtime) []finding    { return r.shape.wrong }
func unknownFields(r runtime) []finding { return r.shape.unknown }

func (m *misfits) compare(v value, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := t.Kind(); {
	case !v.given():
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		m.leaf(v, t)
	case kind == reflect.Struct && v.node.Kind == document.Mapping:
		m.fields(v, t)
	case kind == reflect.Map && v.node.Kind == document.Mapping:
		m.each(v.fields(), t.Elem())
	case kind == reflect.Slice && v.node.Kind == document.List:
		m.each(v.items(), t.Elem())
	default:
		m.leaf(v, t)
	}
}

func (m *misfits) each(values []value, t reflect.Type) {
	for _, v := range values {
		m.compare(v, t)
	}
}

func (m *misfits) fields(v value, t reflect.Type) {
	known := fieldsOf(t)
	for i, below := range v.fields() {
		if t, ok := known[below.key()]; ok {
			m.compare(below, t)
			continue
		}
		below.at = v.node.Fields[i].Position
		m.unknown = append(m.unknown, below.surprises(
			"Trainer 2.3 has no field %s here, so the cluster drops it, or refuses the runtime: %s", problem.Quote(below.key()), m.advice(below.key(), known))...)
	}
}

// maxAdvice bounds for how many unknown fields the one that was meant is looked
// for: a file with more of them is no runtime, and each takes a while.
const maxAdvice = 100

func (m *misfits) advice(key string, known map[string]reflect.Type) string {
	if len(m.unknown) < maxAdvice && problem.Plain(key) {
		if meant := problem.Nearest(key, slices.Sorted(maps.Keys(known))); meant != "" {
			return fmt.Sprintf("write %s, or leave it out", meant)
		}
	}
	return "leave it out"
}

// fieldsOf maps the keys of a struct to their types, those of inlined structs among them.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case key == "-":
		case field.Anonymous && key == "":
			maps.Copy(known, fieldsOf(field.Type))
		case key != "":
			known[key] = field.Type
		}
	}
	return known
}

// leaf decodes a value that has no parts.
func (m *misfits) leaf(v value, t reflect.Type) {
	if !decodes(v.node, t) {
		m.wrong = append(m.wrong, v.breaks("the cluster refuses %s here: write %s", describe(v.node), wanted(t))...)
	}
}

// hugeExponent is a quantity that takes minutes to read, and that nobody means.
var hugeExponent = regexp.MustCompile(`[eE][-+]?[0-9]{3,}$`)

func decodes(n *document.Node, t reflect.Type) bool {
	if text, ok := n.Scalar.(string); ok {
		if _, known := switches[text]; known && t.Kind() == reflect.Bool {
			return true
		}
		if t == reflect.TypeFor[resource.Quantity]() && hugeExponent.MatchString(text) {
			return false
		}
	}
	text, err := json.Marshal(n.Plain())
	return err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil
}

// wanted says in words what a type holds.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "a quantity such as 4 or 16Gi"
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number or a name"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2026-01-31T12:00:00Z"
	}
	switch t.Kind() {
	case reflect.String:
		return "text, in quotes if it looks like something else"
	case reflect.Bool:
		return "true or false, without quotes"
	case reflect.Int32:
		return "a whole number, without quotes and up to 2147483647"
	case reflect.Int64:
		return "a whole number, without quotes"
	case reflect.Slice:
		return "a list"
	}
	return "a mapping"
}
