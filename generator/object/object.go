// Package object declares the result of generation, which bundles render: Kubernetes objects in an ordered set, and the
// settings that bundle formats need. Objects and sets are immutable.
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

// Origin is the origin of an object, as two positions of the form file:line:column.
type Origin struct {
	Input      string // the section of the user's document that asks for it
	Definition string // the CUE that defines it
}

// Parameter is a scalar of an object that can get another value without any other change, such as a value of a chart.
type Parameter struct {
	Key    string          // the path of the field in the document that sets it, the same for all objects
	Whole  bool            // whether Key is a whole path, and not relative to the section that asks for the object
	Path   []any           // its path in the object: keys (string) and indexes (int) from the root
	Doc    string          // its meaning, in one sentence
	Schema json.RawMessage // the JSON Schema of its value in the document
}

// Object is one generated Kubernetes object.
type Object struct {
	id         ID
	origin     Origin
	shape      *Shape
	values     []any // of the shape's parameters
	base       string
	parameters []Parameter
}

// New returns an object with content as decoded JSON (maps, slices, strings, booleans, int64, float64 and nil). It fails if
// apiVersion, kind or name is missing.
func New(fields map[string]any, origin Origin, parameters []Parameter) (Object, error) {
	return Make(NewShape(runtime.DeepCopyJSON(fields), nil), nil, origin, "", parameters)
}

// Make returns an object of a shape with the values of its parameters. The keys of documented parameters are relative to base,
// a dotted path in the document, and can be shared by objects.
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

// text returns a text of the object, or "".
func (o Object) text(at shapeText) string {
	if at.parameter < 0 {
		return at.text
	}
	text, _ := o.values[at.parameter].(string)
	return text
}

// ID returns the object's name within a cluster.
func (o Object) ID() ID { return o.id }

// Origin returns where the object comes from.
func (o Object) Origin() Origin { return o.origin }

// Shape returns the shape of the object, and the values of its parameters in the order of the shape. Callers must not change
// them.
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
func (o Object) Fields() map[string]any { return o.shape.withValues(o.values) }

// MarshalJSON writes the object's content with sorted keys.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.Fields()) }

// Parameters returns the parameters that users can set, ordered by path.
func (o Object) Parameters() []Parameter {
	parameters := slices.Clone(o.parameters)
	for i, p := range parameters {
		if o.base != "" && !p.Whole {
			parameters[i].Key, parameters[i].Whole = o.base+"."+p.Key, true
		}
	}
	return parameters
}
