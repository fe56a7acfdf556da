package transform

import (
	"iter"

	"go.yaml.in/yaml/v4"
	older "sigs.k8s.io/yaml"
)

// fields are the keys and values of a mapping; of anything else there are none.
func fields(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// follow is the value at a path of keys; nil where there is none.
func follow(n *yaml.Node, steps ...string) *yaml.Node {
	for _, step := range steps {
		var below *yaml.Node
		for key, value := range fields(n) {
			if key == step {
				below = value
			}
		}
		n = below
	}
	return n
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

func textAt(n *yaml.Node, steps ...string) string {
	if found := follow(n, steps...); found != nil && isText(found) {
		return found.Value
	}
	return ""
}

// set gives the field at a path of keys a text. Mappings on the way are made where there are none;
// where something else is, no API server takes the object, and it stays as it is.
func set(n *yaml.Node, value string, steps ...string) {
	for _, step := range steps {
		if n.Kind != yaml.MappingNode {
			return
		}
		below := follow(n, step)
		if below == nil {
			below = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			n.Content = append(n.Content, scalar(step), below)
		}
		n = below
		if n.ShortTag() == "!!null" {
			*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
	}
	if isText(n) && n.Value == value {
		return
	}
	text := scalar(value)
	text.HeadComment, text.LineComment, text.FootComment = n.HeadComment, n.LineComment, n.FootComment
	*n = *text
}

// scalar is a text that is one to those who read YAML 1.1, too.
func scalar(value string) *yaml.Node {
	var document yaml.Node
	text, err := older.Marshal(value)
	if err == nil {
		err = yaml.Unmarshal(text, &document)
	}
	if err != nil || len(document.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.DoubleQuotedStyle}
	}
	n := *document.Content[0]
	n.Line, n.Column = 0, 0
	return &n
}
