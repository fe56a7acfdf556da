package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sort"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"

	"github.com/trainyard/trainyard/generator/internal/upstream"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"
)

// Rules for objects that people may have written or changed.
var (
	unknownField = problem.Rule{Name: "unknown-field", Doc: "An object has only fields that its kind defines"}
	wrongType    = problem.Rule{Name: "wrong-field-type", Doc: "A field has the type that its upstream project defines"}
)

// Fields checks the fields of an object that people may have written or changed. Fields returns unknown fields in a
// separate list, because a newer version of the type may define these fields. Fields returns two empty lists if
// trainyard does not know the complete type of the object.
func Fields(fields map[string]any) (wrong, unknown problem.List) {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	group := schema.FromAPIVersionAndKind(apiVersion, kind)
	if !upstream.IsComplete(group) {
		return nil, nil
	}
	found, err := decode(fields, group)
	if err != nil {
		return problem.List{wrongField(fields, group)}, nil
	}
	for _, err := range found {
		var field sigsjson.FieldError
		if errors.As(err, &field) {
			unknown = append(unknown, problem.Problem{Rule: unknownField, Path: field.FieldPath(), Message: "unknown field: " + kind + " has no field with this name"})
		}
	}
	return nil, unknown
}

// wrongField reports the first value that cannot be decoded. wrongField itself searches for the wrong value, because
// the error of the decoder names Go types and often contains no path of the value.
func wrongField(fields map[string]any, kind schema.GroupVersionKind) problem.Problem {
	root, err := decodedJSON(fields)
	if err != nil {
		return problem.Problem{Rule: wrongType, Message: err.Error()}
	}
	path, value := bisect(root, func() bool {
		_, err := decode(root, kind)
		return err == nil
	})
	return problem.Problem{Rule: wrongType, Path: problem.Path(path), Message: "wrong type for this field of " + kind.Kind + ": got " + problem.Describe(value)}
}

// decodedJSON encodes a value as JSON, and decodes this JSON into a copy of the value. In the copy, numbers have the
// type json.Number, which keeps their spelling.
func decodedJSON(value any) (copied any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&copied)
	return copied, err
}

// bisect finds the value that prevents the decoding of a tree. bisect removes parts of the tree until decoding
// succeeds.
func bisect(root any, decodes func() bool) (path []string, value any) {
	for value = root; ; {
		keys := keysOf(value)
		first := sort.Search(len(keys), func(n int) bool {
			removed := remove(value, keys[:n+1])
			defer restore(value, removed)
			return decodes()
		})
		if first == len(keys) {
			return path, value
		}
		remove(value, keys[:first])
		path = append(path, keys[first])
		value, _ = values.Child(value, keys[first])
	}
}

func keysOf(value any) []string {
	switch value := value.(type) {
	case map[string]any:
		return slices.Sorted(maps.Keys(value))
	case []any:
		keys := make([]string, len(value))
		for i := range value {
			keys[i] = strconv.Itoa(i)
		}
		return keys
	}
	return nil
}

// remove deletes fields of a mapping, or replaces items of a list by null, and
// returns the old values.
func remove(value any, keys []string) map[string]any {
	removed := map[string]any{}
	for _, key := range keys {
		removed[key], _ = values.Child(value, key)
		switch value := value.(type) {
		case map[string]any:
			delete(value, key)
		case []any:
			i, _ := strconv.Atoi(key)
			value[i] = nil
		}
	}
	return removed
}

func restore(value any, removed map[string]any) {
	for key, item := range removed {
		switch value := value.(type) {
		case map[string]any:
			value[key] = item
		case []any:
			i, _ := strconv.Atoi(key)
			value[i] = item
		}
	}
}
