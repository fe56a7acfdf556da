package document

import (
	"strings"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/util/json"
	kubernetes "sigs.k8s.io/yaml"
)

// older reads a scalar of a Kubernetes object as kubectl and the API server do, with their own
// library: by YAML 1.1, where yes, on and y are true and 010 is eight. It returns false where that
// says no more than newer YAML does, in which documents of ours are written.
func older(y *yaml.Node) (value any, ok bool) {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if y.Style&quoted != 0 || y.Value == "" || strings.ContainsAny(y.Value, "\n") {
		return nil, false
	}
	if !strings.ContainsRune("yYnNtTfFoO~+-.0123456789", rune(y.Value[0])) || isShortNumber(y.Value) {
		return nil, false // the same in both
	}
	text, err := kubernetes.YAMLToJSON([]byte("is: " + y.Value))
	if err != nil {
		return nil, false
	}
	var read map[string]any
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, false
	}
	return read["is"], true
}

// isShortNumber tells the numbers that all versions of YAML read alike, which are most of them: their
// library takes its time for each.
func isShortNumber(text string) bool {
	return text == "0" || text[0] != '0' && len(text) < 16 && strings.Trim(text, "0123456789") == ""
}

// olderKey is a key of a Kubernetes object as text, which is true where somebody writes yes.
func olderKey(y *yaml.Node) string {
	value, ok := older(y)
	if _, text := value.(string); !ok || text {
		return y.Value
	}
	var read map[string]any
	if err := kubernetes.Unmarshal([]byte(y.Value+": 0"), &read); err == nil {
		for key := range read {
			return key
		}
	}
	return y.Value // null, which nobody takes
}
