package problem

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// DecodeError explains a type error of encoding/json: it returns the path of the wrong value and a message. The
// message uses the names of types in YAML, such as mapping. For an error that is not a type error of encoding/json,
// DecodeError returns the error's own message and no path.
func DecodeError(err error) (path, message string) {
	var other *json.UnmarshalTypeError
	if !errors.As(err, &other) {
		return "", err.Error()
	}
	got, _, _ := strings.Cut(other.Value, " ") // "number 1.5" becomes "number"
	return other.Field, "want " + cmp.Or(yamlTypes[other.Type.Kind()], "a whole number") + ", got " + cmp.Or(given[got], got)
}

// yamlTypes maps Go kinds to the names of the matching YAML types. yamlTypes omits the kinds of integers, such as
// reflect.Int32. If a kind is not in yamlTypes, the message of DecodeError contains the text "a whole number".
var yamlTypes = map[reflect.Kind]string{
	reflect.String: "text", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "a mapping", reflect.Struct: "a mapping",
	reflect.Float64: "a number", reflect.Interface: "something else",
}

var given = map[string]string{"string": "text", "bool": "true or false", "array": "a list", "object": "a mapping", "number": "a number"}

// Describe returns a short text that stands for the value in a message. For a mapping or a list, the text is "a
// mapping" or "a list". For a scalar, the text is the shortened scalar.
func Describe(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return given["object"]
	case []any:
		return given["array"]
	case string:
		return message.Quote(value)
	}
	return message.Number(fmt.Sprint(value))
}
