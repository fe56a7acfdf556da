package document

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainyard/trainyard/generator/problem"
)

func parseYAML(name string, text []byte) (*Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	root, err := readYAML(decoder, name, text)
	switch {
	case errors.Is(err, io.EOF):
		return nil, at(name, 1, 1, "file is empty: want a Platform document")
	case err != nil:
		return nil, err
	}
	if second, err := readYAML(decoder, name, text); err == nil {
		return nil, at(name, second.Line, 1, "second document in one file: want one Platform per file")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, at(name, 1, 1, "file is empty: want a Platform document")
	}
	c := &converter{file: name}
	node := c.convert(root.Content[0], 0)
	if c.stopped {
		return nil, c.problems.Err()
	}
	return node, c.problems.Err()
}

// readYAML reads the next document of a text. Its error is io.EOF at the end, else a problem.List.
func readYAML(decoder *yaml.Decoder, name string, text []byte) (*yaml.Node, error) {
	var root yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, syntaxError(name, text, err)
	}
	return &root, nil
}

var yamlErrorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError puts the parser's message at its line; the parser keeps no column.
func syntaxError(name string, text []byte, err error) error {
	line, message := 1, err.Error()
	if m := yamlErrorLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if m[1] != "" {
			line, _ = strconv.Atoi(m[1])
		}
	}
	if strings.Contains(message, "found character that cannot start any token") && bytes.Contains(lineOf(text, line), []byte("\t")) {
		message = "tab in indentation: YAML wants spaces"
	}
	return at(name, line, 1, "not YAML: %s", message)
}

func lineOf(text []byte, line int) []byte {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return nil
	}
	return lines[line-1]
}

// converter turns YAML nodes into ours, collecting problems as it goes.
type converter struct {
	file     string
	nodes    int
	stopped  bool
	problems problem.List
}

func (c *converter) convert(y *yaml.Node, depth int) *Node {
	n := &Node{Position: c.position(y)}
	c.nodes++
	switch {
	case c.stopped:
		return n
	case depth > MaxDepth:
		c.stop(n, "more than %d mappings and lists inside each other", MaxDepth)
		return n
	case c.nodes > MaxNodes:
		c.stop(n, "more than %d keys and values, aliases expanded", MaxNodes)
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		// An alias reads as what it stands for, at the place where it is used.
		target := c.convert(y.Alias, depth+1)
		target.Position = n.Position
		return target
	case yaml.MappingNode:
		c.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Items = append(n.Items, c.convert(item, depth+1))
		}
	default:
		c.scalar(n, y)
	}
	return n
}

func (c *converter) mapping(n *Node, y *yaml.Node, depth int) {
	n.Kind = Mapping
	seen := map[string]problem.Position{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, position := y.Content[i], c.position(y.Content[i])
		if key.Kind != yaml.ScalarNode {
			c.add(position, "want a plain key, got a mapping or list")
			continue
		}
		if key.ShortTag() == "!!merge" {
			c.add(position, `merge keys ("<<") are not supported: write the keys out, or use an alias for the whole value`)
			continue
		}
		if first, ok := seen[key.Value]; ok {
			c.add(position, "key %.60q is already set at line %d", key.Value, first.Line)
			continue
		}
		seen[key.Value] = position
		n.Fields = append(n.Fields, Field{Position: position, Key: key.Value, Value: c.convert(y.Content[i+1], depth+1)})
	}
}

func (c *converter) scalar(n *Node, y *yaml.Node) {
	n.Kind = Scalar
	switch y.ShortTag() {
	case "!!str", "!!timestamp":
		n.Scalar = y.Value
	case "!!int", "!!float", "!!bool", "!!null":
		var value any
		if err := y.Decode(&value); err != nil {
			n.Bad = true
			c.add(n.Position, "cannot read %.60q as a value", y.Value)
			return
		}
		if i, ok := value.(int); ok {
			value = int64(i)
		}
		if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			n.Bad = true
			c.add(n.Position, "%q is not a number that can be used", y.Value)
			return
		}
		n.Scalar, n.Text = value, y.Value
	default:
		n.Bad = true
		c.add(n.Position, "tag %.60q is not supported", y.Tag)
	}
}

func (c *converter) stop(n *Node, format string, args ...any) {
	c.stopped = true
	c.add(n.Position, format, args...)
}

func (c *converter) add(p problem.Position, format string, args ...any) {
	c.problems = append(c.problems, at(p.File, p.Line, p.Column, format, args...)...)
}

func (c *converter) position(y *yaml.Node) problem.Position {
	return problem.Position{File: c.file, Line: y.Line, Column: y.Column}
}
