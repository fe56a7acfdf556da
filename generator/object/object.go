// Package object holds what generation yields and everything after it reads:
// one Kubernetes object, and an ordered set of them. Both are values that
// nobody can change: whoever wants other fields makes another object.
package object

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ID names an object within a cluster.
type ID struct {
	schema.GroupVersionKind
	Namespace string // empty for objects that belong to the whole cluster
	Name      string
}

// String gives the ID as group/version, kind and name, for messages.
func (id ID) String() string {
	if id.Namespace == "" {
		return fmt.Sprintf("%s %s", id.Kind, id.Name)
	}
	return fmt.Sprintf("%s %s/%s", id.Kind, id.Namespace, id.Name)
}

// Origin says where an object comes from. Both places read file:line:column.
type Origin struct {
	Input      string // the part of the person's document that asked for it
	Definition string // the CUE that made it
}

// Parameter is a leaf of an object that may be given another value without
// changing anything else, such as a chart's value.
type Parameter struct {
	Key    string          // where a person writes it: a dotted path in the document, the same for all objects it fills
	Whole  bool            // whether the key is whole, and not relative to the part of the document that the object is for
	Path   []any           // where it lands: keys (string) and indexes (int) from the object's root
	Doc    string          // what it means, in one sentence
	Schema json.RawMessage // the JSON Schema of its value in the document
}

// Object is one generated Kubernetes object.
type Object struct {
	id         ID
	origin     Origin
	shape      *Shape
	values     []any // of the shape's leaves
	base       string
	parameters []Parameter
}

// New makes an object of decoded JSON (maps, slices, strings, booleans, int64,
// float64 and nil). It fails if apiVersion, kind or name is missing.
func New(fields map[string]any, origin Origin, parameters []Parameter) (Object, error) {
	return Make(NewShape(runtime.DeepCopyJSON(fields), nil), nil, origin, "", parameters)
}

// Make makes an object of a shape and the values of its leaves. The parameters'
// keys are relative to base, a dotted path in the document, and may be shared.
func Make(shape *Shape, values []any, origin Origin, base string, parameters []Parameter) (Object, error) {
	o := Object{origin: origin, shape: shape, values: values, base: base, parameters: parameters}
	var err error
	o.id, err = o.identify()
	return o, err
}

func (o Object) identify() (ID, error) {
	apiVersion, kind := o.text(o.shape.apiVersion), o.text(o.shape.kind)
	name, namespace := o.text(o.shape.name), o.text(o.shape.namespace)
	if apiVersion == "" || kind == "" || name == "" {
		return ID{}, fmt.Errorf("object lacks apiVersion, kind or metadata.name: %q, %q, %q", apiVersion, kind, name)
	}
	group, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ID{}, fmt.Errorf("reading apiVersion of %s %s: %w", kind, name, err)
	}
	return ID{GroupVersionKind: group.WithKind(kind), Namespace: namespace, Name: name}, nil
}

// text returns the string at a place of the shape, or "".
func (o Object) text(at place) string {
	if at.leaf < 0 {
		return at.text
	}
	text, _ := o.values[at.leaf].(string)
	return text
}

// ID returns the object's name within a cluster.
func (o Object) ID() ID { return o.id }

// Origin returns where the object comes from.
func (o Object) Origin() Origin { return o.origin }

// Shape returns what the object has in common with others, and the values in
// which it differs, in the order of the shape's leaves. Nobody may change them.
func (o Object) Shape() (*Shape, []any) { return o.shape, o.values }

// Label returns the value of one of the object's labels, or "".
func (o Object) Label(key string) string {
	label, ok := o.shape.labels[key]
	if !ok {
		return ""
	}
	return o.text(label)
}

// Fields returns a copy of the object's content as decoded JSON.
func (o Object) Fields() map[string]any { return o.shape.filled(o.values) }

// MarshalJSON writes the object's content with sorted keys.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.Fields()) }

// Parameters returns the leaves that may be given other values, ordered by path.
func (o Object) Parameters() []Parameter {
	parameters := slices.Clone(o.parameters)
	for i, p := range parameters {
		if o.base != "" && !p.Whole {
			parameters[i].Key, parameters[i].Whole = o.base+"."+p.Key, true
		}
	}
	return parameters
}
