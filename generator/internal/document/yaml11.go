package document

import (
	"strings"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/util/json"
	kubernetes "sigs.k8s.io/yaml"
)

// yaml11Scalar reads a scalar by the rules of YAML 1.1, with the YAML library of kubectl and the API server. For
// example, YAML 1.1 reads yes, on and y as true, and 010 as eight. The result "ok" is false if the library cannot read
// the scalar. yaml11Scalar first looks at the style and the text of the scalar. For many scalars, the style or the text
// shows that YAML 1.1 and YAML 1.2 read the same value. For these scalars, "ok" is also false, and yaml11Scalar does
// not call the library.
func yaml11Scalar(y *yaml.Node) (value any, ok bool) {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if y.Style&quoted != 0 || y.Value == "" || strings.Contains(y.Value, "\n") {
		return nil, false
	}
	if !strings.ContainsRune("yYnNtTfFoO~+-.0123456789", rune(y.Value[0])) || isShortNumber(y.Value) {
		return nil, false
	}
	read, ok := readYAML11("value: " + y.Value)
	return read["value"], ok
}

// isShortNumber reports whether a text is 0, or an integer with fewer than 16 digits and without a leading 0. All
// versions of YAML read such a number in the same way, so yaml11Scalar need not call the slow YAML library.
func isShortNumber(text string) bool {
	return text == "0" || text[0] != '0' && len(text) < 16 && strings.Trim(text, "0123456789") == ""
}

// yaml11Key returns a key as kubectl reads it. For example, the key yes becomes "true".
func yaml11Key(y *yaml.Node) string {
	value, ok := yaml11Scalar(y)
	if _, isText := value.(string); !ok || isText {
		return y.Value
	}
	read, _ := readYAML11(y.Value + ": 0")
	for key := range read {
		return key
	}
	return y.Value // the key is null, which kubectl refuses
}

func readYAML11(text string) (map[string]any, bool) {
	var read map[string]any
	converted, err := kubernetes.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(converted, &read)
	}
	return read, err == nil
}
