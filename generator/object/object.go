// Package object declares the result of generation: Kubernetes objects in an ordered set, and the settings that bundle
// formats need to render these objects. Objects and sets are immutable.
package object

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ID identifies an object within a cluster.
type ID struct {
	schema.GroupVersionKind
	Namespace string // empty for cluster-scoped objects
	Name      string
}

// String returns a text for messages, such as "Role team-a/editors": the kind, the namespace if the object
// has one, and the name.
func (id ID) String() string {
	if id.Namespace == "" {
		return fmt.Sprintf("%s %s", id.Kind, id.Name)
	}
	return fmt.Sprintf("%s %s/%s", id.Kind, id.Namespace, id.Name)
}

// GrantsRights reports whether the object gives rights to users or accounts. Objects that give rights are applied last
// and deleted first, so that the policies are in force whenever a user has rights.
func (id ID) GrantsRights() bool {
	return id.Group == "rbac.authorization.k8s.io" && (id.Kind == "RoleBinding" || id.Kind == "ClusterRoleBinding")
}

// Origin contains the position of the document's section that requests an object, and the position of the CUE
// definition that produced the object. A position has the form file:line:column.
type Origin struct {
	Input      string // the section of the user's document that requests the object
	Definition string // the CUE definition of the object
}

// Parameter is a scalar of an object. The value of a parameter can be replaced without a change of any other field of
// the object. For example, a Helm chart reads the parameter from its values.
type Parameter struct {
	Key    string          // path of the document's field that sets the parameter; several parameters can share a path
	Whole  bool            // whether Key is a complete path; if not, Key is relative to the object's section
	Path   []any           // the path of the parameter in the object: keys (string) and indexes (int) from the root
	Doc    string          // the meaning of the parameter, in one sentence
	Schema json.RawMessage // the JSON Schema of the parameter's value in the document
}

// Object is one generated Kubernetes object.
type Object struct {
	id         ID
	origin     Origin
	shape      *Shape
	values     []any // the values of the shape's parameters
	base       string
	parameters []Parameter
}

// New returns an object with the given fields. The fields are decoded JSON: maps, slices, strings, booleans, int64,
// float64 and nil. New fails if apiVersion, kind or name is missing.
func New(fields map[string]any, origin Origin, parameters []Parameter) (Object, error) {
	return Make(NewShape(runtime.DeepCopyJSON(fields), nil), nil, origin, "", parameters)
}

// Make returns an object that consists of a shape and the values of the shape's parameters. The argument "parameters"
// lists the parameters that users can set. The argument "base" is a dotted path. If the field "Whole" of a parameter is
// true, the key of the parameter is a complete path. Otherwise, the key is relative to "base". Because of relative
// keys, objects with different bases can share one list of parameters.
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
		return ID{}, fmt.Errorf("want an object with apiVersion, kind and metadata.name, got apiVersion %q, kind %q and name %q", apiVersion, kind, name)
	}
	group, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ID{}, fmt.Errorf("reading apiVersion of %s %s: %w", kind, name, err)
	}
	return ID{GroupVersionKind: group.WithKind(kind), Namespace: namespace, Name: name}, nil
}

func (o Object) text(at shapeText) string {
	if at.parameter < 0 {
		return at.text
	}
	text, _ := o.values[at.parameter].(string)
	return text
}

// ID returns the identity of the object within a cluster.
func (o Object) ID() ID { return o.id }

// Origin returns two positions: the position of the document's section that requests the object, and the position
// of the CUE definition that produced the object.
func (o Object) Origin() Origin { return o.origin }

// Shape returns the object's shape, and the values of its parameters in the order of Shape.Parameters. Callers must
// not change the returned shape and values.
func (o Object) Shape() (*Shape, []any) { return o.shape, o.values }

// Label returns the value of one of the object's labels, or "" if the object does not have the
// label.
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

// Parameters returns the parameters that users can set. If the object has a base, the returned keys are complete paths.
func (o Object) Parameters() []Parameter {
	parameters := slices.Clone(o.parameters)
	for i, p := range parameters {
		if o.base != "" && !p.Whole {
			parameters[i].Key, parameters[i].Whole = o.base+"."+p.Key, true
		}
	}
	return parameters
}
