// Package verify decodes objects strictly into the Go types of their upstream projects. The objects are generated
// objects, or objects that people have written or changed.
package verify

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"

	"github.com/trainyard/trainyard/generator/internal/upstream"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// Objects is the function that verifies the objects of the given sets. For each shape, the function verifies only one
// object. Other objects of the same shape differ only in the values of parameters, and these values come from the
// checked document. If the function returns an error, trainyard itself has a mistake.
func Objects(sets ...object.Set) error {
	verified := map[*object.Shape]bool{}
	for _, set := range sets {
		for o := range set.All() {
			shape, _ := o.Shape()
			if verified[shape] {
				continue
			}
			verified[shape] = true
			if err := verify(o.ID().GroupVersionKind, shape.Fields()); err != nil {
				return problem.Fault(fmt.Sprintf("verifying %s", o.ID()), err)
			}
		}
	}
	return nil
}

func verify(kind schema.GroupVersionKind, fields map[string]any) error {
	if upstream.New(kind) == nil {
		return fmt.Errorf("no upstream Go type is known for the kind %s", kind)
	}
	unknown, err := decode(fields, kind)
	if err == nil && len(unknown) > 0 {
		return unknown[0]
	}
	return err
}

// decode decodes an object into the Go type of its kind. The result "unknown" lists unknown fields, which do not
// cause an error.
func decode(fields any, kind schema.GroupVersionKind) (unknown []error, err error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return sigsjson.UnmarshalStrict(text, upstream.New(kind))
}
