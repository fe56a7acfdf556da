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

// DecodeError returns the path and the message of a type error of encoding/json, with the names that YAML has for types. For
// any other error, it returns the error's own message.
func DecodeError(err error) (path, message string) {
	var other *json.UnmarshalTypeError
	if !errors.As(err, &other) {
		return "", err.Error()
	}
	got, _, _ := strings.Cut(other.Value, " ") // "number 1.5" has the number
	return other.Field, "want " + cmp.Or(wanted[other.Type.Kind()], "a whole number") + ", got " + cmp.Or(given[got], got)
}

// wanted names the YAML types that decode into kinds of Go. All other kinds are integers.
var wanted = map[reflect.Kind]string{
	reflect.String: "text", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "a mapping", reflect.Struct: "a mapping",
	reflect.Float64: "a number", reflect.Interface: "something else",
}

// given maps the type names of encoding/json to those of YAML.
var given = map[string]string{"string": "text", "bool": "true or false", "array": "a list", "object": "a mapping", "number": "a number"}

// Describe names the type of a mapping or list, and returns a shortened scalar.
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
