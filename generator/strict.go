package generator

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
	"github.com/trainyard/trainyard/generator/problem"
)

// Rules for objects that somebody may have changed after they were generated.
var (
	knownFields = ruleOf("an object has no fields that its type has not")
	rightTypes  = ruleOf("fields have the type that upstream gives them")
)

// Strict holds an object, whoever wrote it, against the type that upstream gives its kind, as the verify stage
// does with ours. Fields that the type has not are apart: a newer version of it may have them. Of a kind whose
// type we do not know as a whole it says nothing.
func Strict(fields map[string]any) (wrong, unknown problem.List) {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	group := schema.FromAPIVersionAndKind(apiVersion, kind)
	if !upstream.Whole(group) {
		return nil, nil
	}
	found, err := decodeStrictly(fields, group)
	if err != nil {
		return problem.List{misplaced(fields, group)}, nil
	}
	for _, err := range found {
		var at sigsjson.FieldError
		if errors.As(err, &at) {
			unknown = append(unknown, problem.Problem{Rule: knownFields, Path: at.FieldPath(), Message: "unknown field: the type of " + kind + " has none of this name"})
		}
	}
	return nil, unknown
}

// decodeStrictly decodes an object into the type of its kind. Unknown fields are no error.
func decodeStrictly(object any, kind schema.GroupVersionKind) (unknown []error, err error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return sigsjson.UnmarshalStrict(text, upstream.New(kind))
}

// misplaced is about one value of an object that does not decode. What decoders say of it is of Go, and often
// not where it is; without it the object decodes, or what stands behind it is at fault.
func misplaced(fields map[string]any, kind schema.GroupVersionKind) problem.Problem {
	var root any
	text, err := json.Marshal(fields)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err = decoder.Decode(&root)
	}
	if err != nil {
		return problem.Problem{Rule: rightTypes, Message: err.Error()}
	}
	path, value := culprit(root, func() bool {
		_, err := decodeStrictly(root, kind)
		return err == nil
	})
	return problem.Problem{Rule: rightTypes, Path: problem.Path(path), Message: "not what the type of " + kind.Kind + " has there: got " + problem.JSON(value)}
}

// culprit finds the value that keeps a tree from decoding. It takes the tree apart.
func culprit(root any, decodes func() bool) (path []string, value any) {
	for value = root; ; {
		keys := keysIn(value)
		first := sort.Search(len(keys), func(n int) bool {
			taken := take(value, keys[:n+1])
			defer giveBack(value, taken)
			return decodes()
		})
		if first == len(keys) {
			return path, value
		}
		take(value, keys[:first])
		path = append(path, keys[first])
		value, _ = child(value, keys[first])
	}
}

// keysIn are the keys of a mapping, or the indexes of a list.
func keysIn(value any) []string {
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

// take leaves out some of what a value holds, for giveBack.
func take(value any, keys []string) map[string]any {
	taken := map[string]any{}
	for _, key := range keys {
		taken[key], _ = child(value, key)
		switch value := value.(type) {
		case map[string]any:
			delete(value, key)
		case []any:
			i, _ := strconv.Atoi(key)
			value[i] = nil
		}
	}
	return taken
}

func giveBack(value any, taken map[string]any) {
	for key, item := range taken {
		switch value := value.(type) {
		case map[string]any:
			value[key] = item
		case []any:
			i, _ := strconv.Atoi(key)
			value[i] = item
		}
	}
}
