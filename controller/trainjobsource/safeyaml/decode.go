package safeyaml

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/json" // decodes integers as int64
	kubernetes "sigs.k8s.io/yaml"
)

// Decode converts a YAML document to a Go value. Callers must first check the document with the function Check. The Go
// value has the types of decoded JSON: integers are int64, and other numbers are float64. Strings stay unchanged.
// Scalars without quotes, such as dates, have the same meaning as in the API server, which reads YAML 1.1. If Decode
// returns an error, the error is a *MistakeError.
func Decode(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.DocumentNode:
		return Decode(node.Content[0])
	case yaml.MappingNode:
		return decodeMapping(node)
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, child := range node.Content {
			value, err := Decode(child)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	return decodeScalar(node)
}

func decodeMapping(node *yaml.Node) (any, error) {
	mapping := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		value, err := Decode(node.Content[i+1])
		if err != nil {
			return nil, err
		}
		mapping[node.Content[i].Value] = value
	}
	return mapping, nil
}

// decodeScalar returns the Go value of a scalar. The YAML library of the API server decides the meaning of scalars
// without quotes.
func decodeScalar(node *yaml.Node) (value any, err error) {
	if isPlainString(node) {
		return node.Value, nil
	}
	if value, known := frequent[node.Value]; known {
		return value, nil
	}
	if integer.MatchString(node.Value) {
		return strconv.ParseInt(node.Value, 10, 64)
	}
	// The scalar is parsed as the value of a key "v". Without this key, "---" and "..." would be at the start of a
	// document, where they have another meaning.
	text, err := kubernetes.YAMLToJSON([]byte("v: " + node.Value))
	var mapping map[string]any
	if err == nil {
		err = json.Unmarshal(text, &mapping)
	}
	if err != nil && node.ShortTag() == "!!str" {
		return node.Value, nil // a string such as "-", which is no value in YAML 1.1
	}
	if err != nil {
		return nil, mistake(node, "the value %s is not a number that JSON can contain", node.Value)
	}
	return mapping["v"], nil
}

// The map "frequent" contains the values of scalars that occur often, such as true. The pattern "integer" matches
// decimal integers with at most 18 digits. decodeScalar decodes these scalars without the YAML library of the API
// server, which would need seconds for a text with many scalars.
var (
	frequent = map[string]any{"": nil, "~": nil, "null": nil, "true": true, "false": false}
	integer  = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)
)

// otherTypes matches all scalars that can have another type than string in YAML 1.1: numbers, dates, and the words for
// true, false and null. otherTypes also matches some strings, such as 10Gi.
var otherTypes = regexp.MustCompile(`^([-+.0-9].*|y|yes|on|true|n|no|off|false|null|~|<<|=|)$`)

// isPlainString reports whether all YAML parsers read a scalar as a string. A scalar is always a string if it has quotes or
// is a block. A scalar without quotes is always a string if its text does not look like a value of another type, such as a
// number.
func isPlainString(node *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return node.Style&quoted != 0 || strings.Contains(node.Value, "\n") || !otherTypes.MatchString(strings.ToLower(node.Value))
}

// IsString reports whether a scalar is a string in both YAML 1.1 and YAML 1.2.
func IsString(node *yaml.Node) bool {
	if isPlainString(node) {
		return true
	}
	value, err := decodeScalar(node)
	return err == nil && value == node.Value && node.ShortTag() == "!!str" && node.Value != "<<" && node.Value != "="
}
