package safeyaml

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// The following constants limit one YAML document.
const (
	maxDepth  = 100    // nested mappings and lists
	maxValues = 20_000 // mappings, lists and scalars; keys count too
)

// MistakeError is a mistake in a YAML document.
type MistakeError struct {
	Line    int // counted from 1
	Message string
}

// Error returns the message with the number of the line, in the form of the YAML library's errors.
func (e *MistakeError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

func mistake(node *yaml.Node, format string, args ...any) error {
	return &MistakeError{max(node.Line, 1), fmt.Sprintf(format, args...)}
}

// Check counts the values in a YAML document. If the document contains mistakes, the error is the first mistake, as a
// *MistakeError.
func Check(document *yaml.Node) (values int, err error) {
	c := checker{}
	err = c.check(document, 0)
	return c.values, err
}

// checker counts the values of a document while it checks them.
type checker struct{ values int }

func (c *checker) check(node *yaml.Node, depth int) error {
	c.values++
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return mistake(node, "anchors and aliases are not allowed: write the value itself")
	case node.Style&yaml.TaggedStyle != 0:
		return mistake(node, "the tag %s is not allowed: remove it, and put the value in quotes if it is a string", node.ShortTag())
	case depth > maxDepth:
		return mistake(node, "mappings and lists are nested more than %d times", maxDepth)
	case c.values > maxValues:
		return mistake(node, "the object has more than %d values", maxValues)
	}
	if node.Kind == yaml.MappingNode {
		if err := checkKeys(node); err != nil {
			return err
		}
	}
	for _, child := range node.Content {
		if err := c.check(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys checks that the keys of a mapping are strings, and that no key is repeated.
func checkKeys(mapping *yaml.Node) error {
	seen := make(map[string]bool, len(mapping.Content)/2)
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		switch {
		case key.Kind == yaml.AliasNode: // check reports it
			continue
		case key.Kind != yaml.ScalarNode:
			return mistake(key, "a key must be a string")
		case !IsString(key):
			return mistake(key, "the key %q is not a string: put it in quotes", key.Value)
		case seen[key.Value]:
			return mistake(key, "the key %q appears twice in one mapping", key.Value)
		}
		seen[key.Value] = true
	}
	return nil
}
