package shape

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/values"
)

// parameter is a scalar with the mark @param(KEY) or @fill(KEY[,of=INPUT]) (see runtimes/training_runtime.cue).
type parameter struct {
	path      []any    // from the root of the object
	source    []string // path of its value in the builder's input
	dependent []string // path of an input field that affects only parameters; nil if there is none
	field     string   // path of the document's field, relative to its section; empty for @fill
}

func parameterOf(v cue.Value, path []any) (p parameter, ok bool) {
	for _, mark := range v.Attributes(cue.FieldAttr) {
		switch mark.Name() {
		case "param":
			key := mark.Contents()
			return parameter{path: slices.Clone(path), source: append([]string{"settings"}, strings.Split(key, ".")...), field: key}, true
		case "fill":
			key, _ := mark.String(0) // always given
			p = parameter{path: slices.Clone(path), source: strings.Split(key, ".")}
			if of, found, _ := mark.Lookup(1, "of"); found {
				p.dependent = strings.Split(of, ".")
			}
			return p, true
		}
	}
	return parameter{}, false
}

// mirroredParameter is a scalar with the mark @mirror(SECTION). In the object, the key of the scalar has the form
// NAME.KEY. The scalar is a copy of the field SECTION.NAME.KEY of the document, such as spec.runtimes.mpi.image.
// Another object has an ordinary parameter that is also a copy of this field of the document. Therefore the mirrored
// parameter and the ordinary parameter always have equal values.
type mirroredParameter struct {
	path []any
	from []string
	key  string
}

func mirroredParameterOf(v cue.Value, path []any) (m mirroredParameter, ok bool) {
	mark := v.Attribute("mirror")
	if mark.Err() != nil {
		return mirroredParameter{}, false
	}
	field, _ := path[len(path)-1].(string)
	name, key, ok := strings.Cut(field, ".")
	return mirroredParameter{path: slices.Clone(path), from: append(strings.Split(mark.Contents(), "."), name), key: key}, ok
}

type reader struct {
	component
	input map[string]any // of the builder
}

// readValue converts a CUE value to decoded JSON, with integers as int64. The argument "siblings" contains the fields
// that precede the value in its mapping. A later call can overwrite the slice "path", so code that stores the slice
// must store a copy.
func (r *reader) readValue(v cue.Value, path []any, siblings map[string]any) (any, error) {
	switch v.Kind() {
	case cue.StructKind:
		return r.mapping(v, path)
	case cue.ListKind:
		return r.list(v, path)
	case cue.BytesKind: // a value of type bytes is always the name of a component
		name, err := v.Bytes()
		r.slots = append(r.slots, slot{slices.Clone(path), string(name)})
		return nil, err
	}
	isParameter := r.addParameter(v, path, siblings)
	if m, ok := mirroredParameterOf(v, path); ok {
		r.mirrored = append(r.mirrored, m)
	}
	read, err := readScalar(v)
	if !isParameter {
		r.size += scalarSize(read)
	}
	return read, err
}

func (r *reader) mapping(v cue.Value, path []any) (map[string]any, error) {
	fields, err := v.Fields()
	if err != nil {
		return nil, err
	}
	read := map[string]any{}
	for fields.Next() {
		key := fields.Selector().Unquoted()
		if read[key], err = r.readValue(fields.Value(), append(path, key), read); err != nil {
			return nil, err
		}
		r.size += len(key) + len(`"":,`)
	}
	return read, nil
}

func (r *reader) list(v cue.Value, path []any) ([]any, error) {
	items, err := v.List()
	if err != nil {
		return nil, err
	}
	read := []any{}
	for items.Next() {
		item, err := r.readValue(items.Value(), values.Extend(path, any(len(read))), nil)
		if err != nil {
			return nil, err
		}
		read = append(read, item)
	}
	return read, nil
}

// scalarSize returns the approximate size of a scalar as JSON, in bytes.
func scalarSize(scalar any) int {
	text, _ := scalar.(string)
	return len(text) + len(`""`)
}

// addParameter adds a CUE value to the list of parameters if the value has the mark @param or @fill, and reports
// whether it has added the value. The argument of a mark can contain the placeholder $name, as in
// @fill(derived.env.$name). addParameter replaces $name by the value of the key "name" in the mapping that contains the
// marked value. For example, if the value of the key "name" is LANG, the mark refers to the input field
// derived.env.LANG. If the input does not contain the field to which a mark with $name refers, addParameter ignores the
// mark.
func (r *reader) addParameter(v cue.Value, path []any, siblings map[string]any) bool {
	p, ok := parameterOf(v, path)
	if !ok {
		return false
	}
	for i, key := range p.source {
		switch key {
		case "$index":
			p.source[i] = innermostIndex(path)
		case "$name":
			p.source[i], _ = siblings["name"].(string)
			if _, given := values.Lookup(r.input, p.source); !given {
				return false
			}
		}
	}
	r.parameters = append(r.parameters, p)
	return true
}

func innermostIndex(path []any) string {
	for _, step := range slices.Backward(path) {
		if index, ok := step.(int); ok {
			return strconv.Itoa(index)
		}
	}
	return ""
}

// readScalar returns the scalar in a CUE value. If the value is a disjunction of scalars, readScalar returns the
// default of the disjunction.
func readScalar(v cue.Value) (any, error) {
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
		return nil, fmt.Errorf("%v: want a string, number or boolean, got %v", v.Path(), v)
	}
}
