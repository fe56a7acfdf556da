package generator

import (
	"iter"
	"slices"

	"cuelang.org/go/cue"
)

// leaf is a scalar marked with @param(key), and its path from the object's root.
type leaf struct {
	path []any
	key  string
}

// leaves walks an object in the order of its fields.
func leaves(v cue.Value, path []any) iter.Seq[leaf] {
	return func(yield func(leaf) bool) {
		if mark := v.Attribute("param"); mark.Err() == nil {
			yield(leaf{path: slices.Clone(path), key: mark.Contents()})
			return
		}
		for key, child := range children(v) {
			for l := range leaves(child, append(path[:len(path):len(path)], key)) {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// children ranges over the fields of a struct or the items of a list, by key or index.
func children(v cue.Value) iter.Seq2[any, cue.Value] {
	return func(yield func(any, cue.Value) bool) {
		switch v.Kind() {
		case cue.StructKind:
			for fields := fieldsOf(v); fields.Next(); {
				if !yield(fields.Selector().Unquoted(), fields.Value()) {
					return
				}
			}
		case cue.ListKind:
			items, _ := v.List() // cannot fail for a list
			for i := 0; items.Next(); i++ {
				if !yield(i, items.Value()) {
					return
				}
			}
		}
	}
}

// fieldsOf iterates over regular, optional and required fields; an iterator
// over anything but a struct is empty.
func fieldsOf(v cue.Value) *cue.Iterator {
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		return &cue.Iterator{}
	}
	return fields
}
