package problem

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// OfJSON says of an error of encoding/json where it is and what is wrong, with types called as in YAML. Of
// any other error it says what that says itself.
func OfJSON(err error) (path, says string) {
	var other *json.UnmarshalTypeError
	if !errors.As(err, &other) {
		return "", err.Error()
	}
	got, _, _ := strings.Cut(other.Value, " ") // "number 1.5" has the number
	return other.Field, "want " + cmp.Or(wanted[other.Type.Kind()], "a whole number") + ", got " + cmp.Or(given[got], got)
}

// wanted are Go's kinds that decode from one type of YAML; of the rest are integers.
var wanted = map[reflect.Kind]string{
	reflect.String: "text", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "a mapping", reflect.Struct: "a mapping",
	reflect.Float64: "a number", reflect.Interface: "something else",
}

// given is what encoding/json calls them.
var given = map[string]string{"string": "text", "bool": "true or false", "array": "a list", "object": "a mapping", "number": "a number"}

// JSON says what a value of decoded JSON is: scalars as they are, shortened.
func JSON(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return given["object"]
	case []any:
		return given["array"]
	case string:
		return Quote(value)
	}
	return Number(fmt.Sprint(value))
}
