package generator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// leaf is a scalar marked with @param(KEY), @fill(KEY) or @fill(KEY,of=INPUT);
// runtimes/shape.cue says what each promises.
type leaf struct {
	path      []any    // from the object's root
	source    []string // where its value is in the maker's input
	of        []string // what of the input nothing but such leaves depends on; may be nil
	parameter string   // the dotted path of the field that sets it, of a @param
}

// leafOf reads the mark of a value.
func leafOf(v cue.Value, path []any) (l leaf, ok bool) {
	for _, mark := range v.Attributes(cue.FieldAttr) {
		switch mark.Name() {
		case "param":
			key := mark.Contents()
			return leaf{path: slices.Clone(path), source: append([]string{"settings"}, strings.Split(key, ".")...), parameter: key}, true
		case "fill":
			key, _ := mark.String(0) // always given
			l = leaf{path: slices.Clone(path), source: strings.Split(key, ".")}
			if of, found, _ := mark.Lookup(1, "of"); found {
				l.of = strings.Split(of, ".")
			}
			return l, true
		}
	}
	return leaf{}, false
}

// echo is a field called NAME.KEY that is marked @echo(PART): it says what the field KEY of PART.NAME of the
// document says, whose object is another.
type echo struct {
	path []any
	from []string
	key  string
}

func echoOf(v cue.Value, path []any) (e echo, ok bool) {
	mark := v.Attribute("echo")
	if mark.Err() != nil {
		return echo{}, false
	}
	field, _ := path[len(path)-1].(string)
	name, key, ok := strings.Cut(field, ".")
	return echo{path: slices.Clone(path), from: append(strings.Split(mark.Contents(), "."), name), key: key}, ok
}

// reading is what is learnt while an object is read.
type reading struct {
	piece
	in map[string]any // the maker's input
}

// mapping reads a struct.
func (r *reading) mapping(v cue.Value, path []any) (map[string]any, error) {
	fields, err := v.Fields()
	if err != nil {
		return nil, err
	}
	read := map[string]any{}
	for fields.Next() {
		key := fields.Selector().Unquoted()
		if read[key], err = r.value(fields.Value(), append(path, key), read); err != nil {
			return nil, err
		}
		r.size += len(key) + len(`"":,`)
	}
	return read, nil
}

func (r *reading) list(v cue.Value, path []any) ([]any, error) {
	items, err := v.List()
	if err != nil {
		return nil, err
	}
	read := []any{}
	for items.Next() {
		item, err := r.value(items.Value(), extend(path, any(len(read))), nil)
		if err != nil {
			return nil, err
		}
		read = append(read, item)
	}
	return read, nil
}

// value reads a value as if it came from JSON, with integers as int64. Beside it
// stand the fields that come before it. Paths to other values are written where this
// one's ends: who keeps a path copies it.
func (r *reading) value(v cue.Value, path []any, beside map[string]any) (any, error) {
	switch v.Kind() {
	case cue.StructKind:
		return r.mapping(v, path)
	case cue.ListKind:
		return r.list(v, path)
	case cue.BytesKind: // which no object has: the name of a component
		name, err := v.Bytes()
		r.gaps = append(r.gaps, gap{slices.Clone(path), string(name)})
		return nil, err
	}
	isLeaf := r.leaf(v, path, beside)
	if e, is := echoOf(v, path); is {
		r.echoes = append(r.echoes, e)
	}
	read, err := scalar(v)
	if !isLeaf {
		r.size += sizeOf(read)
	}
	return read, err
}

// sizeOf is about what a scalar takes as JSON, in bytes.
func sizeOf(scalar any) int {
	text, _ := scalar.(string)
	return len(text) + len(`""`)
}

// leaf remembers a value that is marked, and says whether it is.
func (r *reading) leaf(v cue.Value, path []any, beside map[string]any) bool {
	l, ok := leafOf(v, path)
	if !ok {
		return false
	}
	for i, key := range l.source {
		switch key {
		case "$index":
			l.source[i] = indexIn(path)
		case "$name":
			l.source[i], _ = beside["name"].(string)
			if _, given := lookup(r.in, l.source); !given {
				return false
			}
		}
	}
	r.leaves = append(r.leaves, l)
	return true
}

// indexIn is the number of the item that holds a path, in the innermost list.
func indexIn(path []any) string {
	for _, step := range slices.Backward(path) {
		if index, is := step.(int); is {
			return strconv.Itoa(index)
		}
	}
	return ""
}

// scalar reads what an object may hold, or the default of a choice of such.
func scalar(v cue.Value) (any, error) {
	v, _ = v.Default()
	switch v.Kind() {
	case cue.StringKind:
		return v.String()
	case cue.IntKind:
		return v.Int64()
	case cue.BoolKind:
		return v.Bool()
	case cue.FloatKind:
		return v.Float64()
	default:
		return nil, fmt.Errorf("%v: of a kind that no object holds: %v", v.Path(), v)
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
