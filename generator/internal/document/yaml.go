package document

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"

	"go.yaml.in/yaml/v4"

	"github.com/trainyard/trainyard/generator/problem"
)

// maxMarks is how many brackets and commas a text may have. The parser holds all of a line in brackets
// at once, which takes it 650 bytes for each.
const maxMarks = 250_000

// crowded refuses a text with more brackets and commas than all its keys and values could need.
func crowded(name string, text []byte) error {
	marks := 0
	for offset, b := range text {
		if bytes.IndexByte([]byte(",[]{}"), b) < 0 {
			continue
		}
		if marks++; marks > maxMarks {
			line, column := new(cursor).advance(text, offset)
			return at(name, line, column, "more than %d brackets and commas", maxMarks)
		}
	}
	return nil
}

// version12 is a directive that the parser refuses, where a document may have one: what looks like it in a text
// is text. What the versions disagree about, no document may have.
var version12 = regexp.MustCompile(`(?m)((?:\A\x{FEFF}?|^\.\.\..*\n)(?:(?:%|[ \t\r]*#).*\n|[ \t\r]*\n)*%YAML[ \t]+)1\.2\b`)

// decoderOf reads a text, if the parser can be trusted with it.
func decoderOf(name string, text []byte) (*yaml.Decoder, error) {
	if err := crowded(name, text); err != nil {
		return nil, err
	}
	return yaml.NewDecoder(bytes.NewReader(version12.ReplaceAll(text, []byte("${1}1.1")))), nil
}

func parseYAML(name string, text []byte) (*Node, error) {
	if err := lineBreaks(name, text); err != nil {
		return nil, err
	}
	decoder, err := decoderOf(name, text)
	if err != nil {
		return nil, err
	}
	c := newConverter(name, text)
	var only *Node
	for count := 1; ; count++ {
		root, err := readYAML(decoder, name, text)
		switch {
		case errors.Is(err, io.EOF) && only == nil:
			return nothing(name), nil
		case errors.Is(err, io.EOF):
			return only, c.problems.Err()
		case err != nil:
			return nil, err
		case isEmpty(root):
			continue
		case only != nil || count > MaxDocuments:
			return nil, at(name, root.Line, 1, "second document in one file: want one Platform per file")
		}
		only = c.convert(root.Content[0], 0)
		if c.stopped {
			return nil, c.problems.Err()
		}
	}
}

// isEmpty tells a document without a value, which "---" at the end of a file makes.
func isEmpty(root *yaml.Node) bool {
	return len(root.Content) == 0 || root.Content[0].ShortTag() == "!!null"
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

// converter turns YAML nodes into ours, collecting problems as it goes.
type converter struct {
	file     string
	nodes    int
	old      bool // a Kubernetes object, which is read by YAML 1.1
	stopped  bool
	problems problem.List
	open     map[*yaml.Node]bool // the anchors whose aliases are being expanded
	outer    *yaml.Node          // the alias that is being expanded, the outermost of them
	end      problem.Position    // behind the last character
}

func newConverter(name string, text []byte) *converter {
	line, column := new(cursor).advance(text, len(text))
	return &converter{file: name, open: map[*yaml.Node]bool{}, end: problem.Position{File: name, Line: line, Column: column}}
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
	if y.Kind != yaml.AliasNode && y.Style&yaml.TaggedStyle != 0 && !standardTags[y.ShortTag()] {
		n.Bad = true
		c.add(n.Position, "tag %s is not supported: write the value without it", problem.Quote(y.Tag))
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return c.alias(n, y, depth)
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

// standardTags are the tags that say no more than a value says by itself, or which of two it is.
var standardTags = map[string]bool{
	"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true, "!!timestamp": true, "!!map": true, "!!seq": true, "": true,
}

// alias reads as what it stands for, at the place where it is used.
func (c *converter) alias(n *Node, y *yaml.Node, depth int) *Node {
	if c.open[y.Alias] {
		c.stop(n, "alias *%s stands inside of what it stands for", problem.Shorten(y.Value, 60))
		return n
	}
	if c.outer == nil {
		c.outer = y
		defer func() { c.outer = nil }()
	}
	c.open[y.Alias] = true
	target := c.convert(y.Alias, depth+1)
	delete(c.open, y.Alias)
	target.Position = n.Position
	return target
}

func (c *converter) mapping(n *Node, y *yaml.Node, depth int) {
	n.Kind = Mapping
	seen := map[string]problem.Position{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, position := y.Content[i], c.position(y.Content[i])
		if key.Kind != yaml.ScalarNode {
			c.add(position, "want a plain key, got a mapping or list; is this a template that nobody filled in?")
			n.Bad = len(y.Content) == 2
			continue
		}
		if key.ShortTag() == "!!merge" {
			c.add(position, `merge keys ("<<") are not supported: write the keys out, or use an alias for the whole value`)
			n.Partly = true
			continue
		}
		text := key.Value
		if c.old {
			text = olderKey(key)
		}
		if first, ok := seen[text]; ok {
			c.add(position, "key %.60q is already set at line %d", text, first.Line)
			continue
		}
		seen[text] = position
		n.Fields = append(n.Fields, Field{Position: position, Key: text, Value: c.convert(y.Content[i+1], depth+1)})
	}
}

func (c *converter) scalar(n *Node, y *yaml.Node) {
	n.Kind = Scalar
	if c.old {
		if value, ok := older(y); ok {
			if n.Scalar = value; value != y.Value {
				n.Text = y.Value
			}
			return
		}
	}
	switch y.ShortTag() {
	case "!!str", "!!timestamp":
		n.Scalar = y.Value
	case "!!int", "!!float", "!!bool", "!!null":
		var value any
		if err := y.Decode(&value); err != nil {
			n.Bad = true
			c.add(n.Position, "cannot read %.60q as %s", y.Value, y.ShortTag())
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
	}
}

// stop gives up on the text. The place of a bomb is where it is set off.
func (c *converter) stop(n *Node, format string, args ...any) {
	c.stopped = true
	if c.outer != nil {
		n = &Node{Position: c.position(c.outer)}
	}
	c.add(n.Position, format, args...)
}

func (c *converter) add(p problem.Position, format string, args ...any) {
	c.problems = append(c.problems, at(p.File, p.Line, p.Column, format, args...)...)
}

// position is a node's place. The parser puts a value that is missing at the end
// of the text on the line behind it.
func (c *converter) position(y *yaml.Node) problem.Position {
	if y.Line > c.end.Line {
		return c.end
	}
	return problem.Position{File: c.file, Line: y.Line, Column: y.Column}
}
