package generator

import (
	"iter"
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// leaf is a scalar marked with @param(key) or @fill(key).
type leaf struct {
	path      []any    // from the object's root
	source    []string // where its value is in the maker's input
	parameter string   // the dotted path of the field that sets it, of a @param
}

// leafOf reads the mark of a value.
func leafOf(v cue.Value, path []any) (l leaf, ok bool) {
	if mark := v.Attribute("param"); mark.Err() == nil {
		key := mark.Contents()
		return leaf{slices.Clone(path), append([]string{"settings"}, strings.Split(key, ".")...), key}, true
	}
	if mark := v.Attribute("fill"); mark.Err() == nil {
		return leaf{path: slices.Clone(path), source: strings.Split(mark.Contents(), ".")}, true
	}
	return leaf{}, false
}

// leaves walks an object in the order of its fields.
func leaves(v cue.Value, path []any) iter.Seq[leaf] {
	return func(yield func(leaf) bool) {
		if l, ok := leafOf(v, path); ok {
			yield(l)
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
