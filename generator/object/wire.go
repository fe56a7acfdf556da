package object

import (
	"errors"
	"fmt"
	"slices"
)

// wireSet is a set as it is kept: each shape once, and what is said of parameters once for all shapes.
type wireSet struct {
	_       struct{}    `cbor:",toarray"`
	About   []Parameter // without paths
	Shapes  []wireShape
	Objects []wireObject
}

// wireShape is a shape, and the parameters of its objects: whoever made them has
// made them together.
type wireShape struct {
	_          struct{} `cbor:",toarray"`
	Fields     map[string]any
	Leaves     []pointer
	Parameters []wireParameter
}

// wireParameter is a parameter of a shape.
type wireParameter struct {
	_     struct{}  `cbor:",toarray"`
	About int       // index of what is said of it
	Leaf  int       // the leaf that it sets, or -1
	Path  []pointer // where it lands, if that is no leaf
}

// wireObject is an object of a shape: what differs from the one of that shape before it.
type wireObject struct {
	_      struct{} `cbor:",toarray"`
	Shape  int
	Values []any     // all of them, of the first
	Leaves []int     // those that differ, of another
	Others []any     // their values
	From   *wireFrom // nil where it is that of the one before
}

// wireFrom is what an object was made for.
type wireFrom struct {
	_      struct{} `cbor:",toarray"`
	Origin Origin
	Base   string
}

// MarshalCBOR writes the set, with all that can be learnt of its objects.
func (s Set) MarshalCBOR() ([]byte, error) {
	w := setWriter{shapes: map[*Shape]int{}, about: map[string]int{}, last: map[*Shape]*Object{}}
	for _, o := range s.objects {
		shape := w.shape(o)
		w.wire.Objects = append(w.wire.Objects, wireOf(o, shape, w.last[o.shape]))
		w.last[o.shape] = &o
	}
	return Pack(w.wire)
}

// setWriter remembers what it has written of a set.
type setWriter struct {
	wire   wireSet
	shapes map[*Shape]int
	about  map[string]int // by key, meaning and schema
	last   map[*Shape]*Object
}

// shape is the index of an object's shape, which is written when it is first met.
func (w *setWriter) shape(o Object) int {
	if known, ok := w.shapes[o.shape]; ok {
		return known
	}
	made := wireShape{Fields: o.shape.fields, Leaves: pointersTo(o.shape.leaves)}
	for _, p := range o.parameters {
		at := wireParameter{About: w.said(p), Leaf: o.shape.leaf(p.Path)}
		if at.Leaf < 0 {
			at.Path = pointersTo([][]any{p.Path})
		}
		made.Parameters = append(made.Parameters, at)
	}
	w.shapes[o.shape] = len(w.wire.Shapes)
	w.wire.Shapes = append(w.wire.Shapes, made)
	return w.shapes[o.shape]
}

// said is the index of what is said of a parameter, whatever its path.
func (w *setWriter) said(p Parameter) int {
	p.Path = nil
	key := fmt.Sprintf("%q %t %q %s", p.Key, p.Whole, p.Doc, p.Schema)
	known, ok := w.about[key]
	if !ok {
		known = len(w.wire.About)
		w.about[key], w.wire.About = known, append(w.wire.About, p)
	}
	return known
}

// wireOf writes an object; before is the one of its shape before it, or nil.
func wireOf(o Object, shape int, before *Object) wireObject {
	w := wireObject{Shape: shape, From: &wireFrom{Origin: o.origin, Base: o.base}}
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

// UnmarshalCBOR reads what MarshalCBOR wrote.
func (s *Set) UnmarshalCBOR(text []byte) error {
	var wire wireSet
	if err := Unpack(text, &wire); err != nil {
		return err
	}
	read, err := wire.set()
	*s = read
	return err
}

func (w wireSet) set() (Set, error) {
	shapes, parameters := make([]*Shape, len(w.Shapes)), make([][]Parameter, len(w.Shapes))
	for i, s := range w.Shapes {
		var err error
		if shapes[i], parameters[i], err = s.shape(w.About); err != nil {
			return Set{}, fmt.Errorf("reading shape %d: %w", i, err)
		}
	}
	objects, last := make([]Object, len(w.Objects)), make([]*Object, len(shapes))
	for i, o := range w.Objects {
		if o.Shape < 0 || o.Shape >= len(shapes) {
			return Set{}, fmt.Errorf("object %d has a shape that is not there", i)
		}
		values, from, err := o.after(last[o.Shape], len(shapes[o.Shape].leaves))
		if err == nil {
			objects[i], err = Make(shapes[o.Shape], values, from.Origin, from.Base, parameters[o.Shape])
		}
		if err != nil {
			return Set{}, fmt.Errorf("reading object %d: %w", i, err)
		}
		last[o.Shape] = &objects[i]
	}
	return NewSet(objects...)
}

// shape completes what is written of a shape with what is said of its parameters.
func (w wireShape) shape(about []Parameter) (*Shape, []Parameter, error) {
	leaves := pathsOf(w.Leaves, w.Fields)
	parameters := slices.Grow([]Parameter(nil), len(w.Parameters))
	for i, p := range w.Parameters {
		if p.About < 0 || p.About >= len(about) || p.Leaf >= len(leaves) || p.Leaf < 0 && len(p.Path) != 1 {
			return nil, nil, fmt.Errorf("nothing is said of parameter %d, or it is nowhere", i)
		}
		made := about[p.About]
		if p.Leaf < 0 {
			made.Path = pathsOf(p.Path, w.Fields)[0]
		} else {
			made.Path = leaves[p.Leaf]
		}
		parameters = append(parameters, made)
	}
	return NewShape(w.Fields, leaves), parameters, nil
}

// after completes what is written of an object with the one of its shape before it.
func (w wireObject) after(before *Object, leaves int) (values []any, from wireFrom, err error) {
	values = w.Values
	if before != nil {
		values, from = slices.Clone(before.values), wireFrom{Origin: before.origin, Base: before.base}
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
