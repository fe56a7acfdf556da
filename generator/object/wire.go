package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sigsjson "sigs.k8s.io/json"
)

// wireSet is a set as it is kept: each shape once.
type wireSet struct {
	Shapes  []wireShape  `json:"shapes"`
	Objects []wireObject `json:"objects"`
}

// wireShape is a shape, and the parameters of its objects: whoever made them has
// made them together.
type wireShape struct {
	Fields     map[string]any `json:"fields"`
	Leaves     [][]any        `json:"leaves"`
	Parameters []Parameter    `json:"parameters"`
}

// wireObject is an object of a shape: what differs from the one of that shape before it.
type wireObject struct {
	Shape  int       `json:"shape"`
	Values []any     `json:"values,omitempty"` // all of them, of the first
	Leaves []int     `json:"leaves,omitempty"` // those that differ, of another
	Others []any     `json:"others,omitempty"` // their values
	From   *wireFrom `json:"from,omitempty"`
}

// wireFrom is what an object was made for.
type wireFrom struct {
	Origin Origin `json:"origin"`
	Base   string `json:"base"`
}

// Encode writes sets, for Decode to read.
func Encode(sets ...Set) ([]byte, error) {
	wire := make([]wireSet, len(sets))
	for i, s := range sets {
		known, last := map[*Shape]int{}, map[*Shape]*Object{}
		for _, o := range s.objects {
			shape, ok := known[o.shape]
			if !ok {
				shape = len(known)
				known[o.shape] = shape
				wire[i].Shapes = append(wire[i].Shapes, wireShape{o.shape.fields, o.shape.leaves, o.parameters})
			}
			wire[i].Objects = append(wire[i].Objects, wireOf(o, shape, last[o.shape]))
			last[o.shape] = &o
		}
	}
	return json.Marshal(wire)
}

// wireOf writes an object; before is the one of its shape before it, or nil.
func wireOf(o Object, shape int, before *Object) wireObject {
	w := wireObject{Shape: shape, From: &wireFrom{o.origin, o.base}}
	if before == nil {
		w.Values = o.values
		return w
	}
	for i, value := range o.values {
		if value != before.values[i] {
			w.Leaves, w.Others = append(w.Leaves, i), append(w.Others, value)
		}
	}
	if o.origin == before.origin && o.base == before.base {
		w.From = nil
	}
	return w
}

// Decode reads what Encode wrote.
func Decode(text []byte) ([]Set, error) {
	var wire []wireSet
	// This one reads integers as int64 wherever they stand.
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(text, &wire); err != nil {
		return nil, err
	}
	sets := make([]Set, len(wire))
	for i, w := range wire {
		var err error
		if sets[i], err = w.set(); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

func (w wireSet) set() (Set, error) {
	shapes := make([]*Shape, len(w.Shapes))
	for i, s := range w.Shapes {
		restore(s.Leaves)
		shapes[i] = NewShape(s.Fields, s.Leaves)
		for _, p := range s.Parameters {
			restore([][]any{p.Path})
		}
	}
	objects, last := make([]Object, len(w.Objects)), make([]*Object, len(shapes))
	for i, o := range w.Objects {
		if o.Shape < 0 || o.Shape >= len(shapes) {
			return Set{}, fmt.Errorf("object %d has a shape that is not there", i)
		}
		values, from, err := o.after(last[o.Shape], len(shapes[o.Shape].leaves))
		if err == nil {
			objects[i], err = Make(shapes[o.Shape], values, from.Origin, from.Base, w.Shapes[o.Shape].Parameters)
		}
		if err != nil {
			return Set{}, fmt.Errorf("reading object %d: %w", i, err)
		}
		last[o.Shape] = &objects[i]
	}
	return NewSet(objects...)
}

// after completes what is written of an object with the one of its shape before it.
func (w wireObject) after(before *Object, leaves int) (values []any, from wireFrom, err error) {
	values = w.Values
	if before != nil {
		values, from = slices.Clone(before.values), wireFrom{before.origin, before.base}
	}
	if w.From != nil {
		from = *w.From
	}
	if len(values) != leaves || len(w.Leaves) != len(w.Others) {
		return nil, from, errors.New("it does not fit its shape")
	}
	for i, leaf := range w.Leaves {
		if leaf < 0 || leaf >= leaves {
			return nil, from, errors.New("it has a leaf that its shape has not")
		}
		values[leaf] = w.Others[i]
	}
	return values, from, nil
}

// restore gives indexes the type back that they have in paths.
func restore(paths [][]any) {
	for _, path := range paths {
		for i, step := range path {
			if index, ok := step.(int64); ok {
				path[i] = int(index)
			}
		}
	}
}
