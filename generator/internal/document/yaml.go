package document

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxMarks is the maximum number of brackets and commas in a text. The limit bounds the memory of the parser. The
// parser needs 650 bytes for each bracket and comma in a flow list or flow mapping, such as [a, b].
const maxMarks = 250_000

// checkMarks counts the brackets and the commas of a text together. If the total is greater than maxMarks, checkMarks
// refuses the text. A document within the limit MaxNodes rarely needs so many brackets and commas.
func checkMarks(name string, text []byte) error {
	marks := 0
	for offset, b := range text {
		if bytes.IndexByte([]byte(",[]{}"), b) < 0 {
			continue
		}
		if marks++; marks > maxMarks {
			line, column := new(cursor).advance(text, offset)
			return errorAt(name, line, column, "too large: want at most %d brackets and commas", maxMarks)
		}
	}
	return nil
}

// checkLineBreaks refuses characters that only some YAML parsers read as the end of a line. With these
// characters, two parsers could read different values from the same text.
func checkLineBreaks(name string, text []byte) error {
	offset := bytes.IndexAny(text, "\u0085\u2028\u2029")
	if offset < 0 {
		return nil
	}
	r, _ := utf8.DecodeRune(text[offset:])
	line, column := new(cursor).advance(text, offset)
	return errorAt(name, line, column, "not YAML: U+%04[1]X ends a line only for some YAML parsers: write \"\\u%04[1]X\" in double quotes", r)
}

// version12 matches the directive %YAML 1.2 at the positions where YAML allows directives. The parser refuses this
// directive, so parseYAML changes the version in it to 1.1. The change is safe, because the version has no effect on
// how the parser reads the rest of the text.
var version12 = regexp.MustCompile(`(?m)((?:\A\x{FEFF}?|^\.\.\..*\n)(?:(?:%|[ \t\r]*#).*\n|[ \t\r]*\n)*%YAML[ \t]+)1\.2\b`)

func parseYAML(name string, text []byte, single bool) ([]*Node, error) {
	err := checkMarks(name, text)
	if err == nil && single {
		err = checkLineBreaks(name, text)
	}
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(version12.ReplaceAll(text, []byte("${1}1.1"))))
	c := newConverter(name, text)
	c.yaml11 = !single
	documents, err := c.convertAll(decoder, text, single)
	if single && err != nil {
		return nil, err
	}
	if err == nil {
		err = c.problems.Err()
	}
	return documents, err
}

// convertAll converts all documents of a text except empty documents. The conversion stops with an error at the
// first unreadable document.
func (c *converter) convertAll(decoder *yaml.Decoder, text []byte, single bool) ([]*Node, error) {
	var documents []*Node
	for count := 1; ; count++ {
		var root yaml.Node
		switch err := decoder.Decode(&root); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return documents, yamlError(c.file, text, err)
		case count > MaxDocuments:
			return documents, errorAt(c.file, root.Line, 1, "more than %d documents", MaxDocuments)
		case len(root.Content) == 0:
			continue
		}
		switch n := c.convert(root.Content[0], 0); {
		case c.stopped:
			return documents, c.problems.Err()
		case n.Empty():
		case single && len(documents) > 0:
			return nil, errorAt(c.file, root.Line, 1, "second document in one file: want one Platform per file")
		default:
			documents = append(documents, n)
		}
	}
}

type converter struct {
	file     string
	nodes    int
	yaml11   bool // whether to read scalars and keys by the rules of YAML 1.1
	stopped  bool // whether the text exceeds a limit
	problems problem.List
	open     map[*yaml.Node]bool // the anchored values that are being expanded
	outer    *yaml.Node          // the outermost alias that is being expanded
	end      problem.Position    // the position after the last character
}

func newConverter(name string, text []byte) *converter {
	line, column := new(cursor).advance(text, len(text))
	return &converter{file: name, open: map[*yaml.Node]bool{}, end: problem.Position{File: name, Line: line, Column: column}}
}

func (c *converter) convert(y *yaml.Node, depth int) *Node {
	n := &Node{Position: c.nodePosition(y)}
	c.nodes++
	switch {
	case c.stopped:
	case depth > MaxDepth:
		c.reportLimit(n, "mappings and lists are nested more than %d levels deep", MaxDepth)
	case c.nodes > MaxNodes:
		c.reportLimit(n, "more than %d values after aliases are expanded", MaxNodes)
	case y.Kind == yaml.AliasNode:
		return c.convertAlias(n, y, depth)
	case y.Style&yaml.TaggedStyle != 0 && !supportedTags[y.ShortTag()]:
		n.Unreadable = true
		c.add(n.Position, "tag %s is not supported: write the value without the tag", message.Quote(y.Tag))
	case y.Kind == yaml.MappingNode:
		c.mapping(n, y, depth)
	case y.Kind == yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Items = append(n.Items, c.convert(item, depth+1))
		}
	default:
		c.scalar(n, y)
	}
	return n
}

var supportedTags = map[string]bool{
	"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true, "!!timestamp": true, "!!map": true, "!!seq": true, "": true,
}

// convertAlias converts the value to which an alias refers. The result has the position of the alias.
func (c *converter) convertAlias(n *Node, y *yaml.Node, depth int) *Node {
	if c.open[y.Alias] {
		c.reportLimit(n, "alias *%[1]s is inside the value of its anchor &%[1]s: remove the alias", message.Shorten(y.Value, 60))
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
		key, position := y.Content[i], c.nodePosition(y.Content[i])
		if key.Kind != yaml.ScalarNode {
			c.add(position, "want a plain key, got a mapping or list: if this file is a template, write a value instead of each variable, such as {{ NAME }}")
			n.Unreadable = len(y.Content) == 2
			continue
		}
		if key.ShortTag() == "!!merge" {
			c.add(position, `merge keys ("<<") are not supported: write the keys out, or use an alias for the whole value`)
			n.Incomplete = true
			continue
		}
		text := key.Value
		if c.yaml11 {
			text = yaml11Key(key)
		}
		if first, ok := seen[text]; ok {
			c.problems = append(c.problems, duplicateKey(position, text, first)...)
			continue
		}
		seen[text] = position
		n.Fields = append(n.Fields, Field{Position: position, Key: text, Value: c.convert(y.Content[i+1], depth+1)})
	}
}

func (c *converter) scalar(n *Node, y *yaml.Node) {
	if value, ok := yaml11Scalar(y); c.yaml11 && ok {
		if n.Scalar = value; value != y.Value {
			n.Text = y.Value
		}
		return
	}
	if tag := y.ShortTag(); tag == "!!str" || tag == "!!timestamp" {
		n.Scalar = y.Value
		return
	}
	var value any
	err := y.Decode(&value)
	f, isFloat := value.(float64)
	switch i, isInt := value.(int); {
	case err != nil:
		n.Unreadable = true
		c.add(n.Position, "cannot read %.60q as %s", y.Value, y.ShortTag())
	case isFloat && (math.IsInf(f, 0) || math.IsNaN(f)):
		n.Unreadable = true
		c.add(n.Position, "%q is not a finite number", y.Value)
	case isInt:
		n.Scalar, n.Text = int64(i), y.Value
	default:
		n.Scalar, n.Text = value, y.Value
	}
}

// reportLimit reports that the text exceeds a limit. If the text exceeds the limit while an alias is expanded, the
// problem has the position of the outermost alias.
func (c *converter) reportLimit(n *Node, format string, args ...any) {
	c.stopped = true
	position := n.Position
	if c.outer != nil {
		position = c.nodePosition(c.outer)
	}
	c.add(position, format, args...)
}

func (c *converter) add(p problem.Position, format string, args ...any) {
	c.problems = append(c.problems, errorAt(p.File, p.Line, p.Column, format, args...)...)
}

// nodePosition returns the position of a node in the YAML file. The parser can give a node a line number that the file
// does not have. In this case, nodePosition returns the position of the end of the file.
func (c *converter) nodePosition(y *yaml.Node) problem.Position {
	if y.Line > c.end.Line {
		return c.end
	}
	return problem.Position{File: c.file, Line: y.Line, Column: y.Column}
}
