// Package document reads YAML and JSON into a tree that knows where each key
// and value stands in its file. It finds what is wrong with the text itself;
// what the text means is for the schema to say.
//
// Input is hostile: its size, depth and number of nodes are bounded before
// anything is built from it.
package document

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trainyard/trainyard/generator/problem"
)

// Bounds on one input file.
const (
	MaxBytes = 1 << 20 // bytes of text
	MaxDepth = 64      // mappings and lists inside each other
	MaxNodes = 100_000 // keys and values, aliases expanded
)

// Node is a value of a document: exactly one of Mapping, List and Scalar has a meaning.
type Node struct {
	problem.Position
	Kind   Kind
	Fields []Field // of a Mapping, in the order of the text
	Items  []*Node // of a List
	Scalar any     // of a Scalar: string, int64, uint64, float64, bool or nil
	Text   string  // of a Scalar that is no string: how it is written
	Bad    bool    // a value that could not be read, which has been reported
	Partly bool    // a Mapping of which a key could not be read, which has been reported

	removed map[string]problem.Position // keys that a layer took away, and where it says so
}

// Field is one key of a mapping and its value.
type Field struct {
	problem.Position // of the key
	Key              string
	Value            *Node
}

// Kind is what a Node holds.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	Mapping
	List
)

// Parse reads one document. The name decides the syntax: *.json is JSON, all else is YAML.
// A text without a value, such as one of comments alone, gives an empty document.
// Its error is a problem.List; a document that comes with it can be checked further.
func Parse(name string, text []byte) (*Node, error) {
	if err := Check(name, text); err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if strings.EqualFold(path.Ext(name), ".json") {
		return parseJSON(name, text)
	}
	return parseYAML(name, text)
}

// Check finds what is wrong with a text whatever its syntax: its size and its encoding.
func Check(name string, text []byte) error {
	if len(text) > MaxBytes {
		return at(name, 1, 1, "file is larger than %d bytes", MaxBytes)
	}
	if utf8.Valid(text) && !bytes.HasPrefix(text, []byte{0}) && !bytes.HasPrefix(text[min(1, len(text)):], []byte{0}) {
		return nil
	}
	return notUTF8(name, text)
}

// notUTF8 finds the place where a text is no UTF-8.
func notUTF8(name string, text []byte) error {
	if wide := [][]byte{{0xFF, 0xFE}, {0xFE, 0xFF}}; text[0] == 0 || len(text) > 1 && text[1] == 0 || bytes.HasPrefix(text, wide[0]) || bytes.HasPrefix(text, wide[1]) {
		return at(name, 1, 1, "text is UTF-16: save the file as UTF-8")
	}
	var c cursor
	for offset, r := range string(text) {
		if _, size := utf8.DecodeRune(text[offset:]); r == utf8.RuneError && size == 1 {
			line, column := c.advance(text, offset)
			return at(name, line, column, "text is not UTF-8: save the file as UTF-8")
		}
	}
	return nil
}

// nothing is what a text without a value says.
func nothing(name string) *Node {
	return &Node{Position: problem.Position{File: name, Line: 1, Column: 1}, Kind: Scalar, Text: "null"}
}

// Empty tells whether a document says nothing.
func (n *Node) Empty() bool {
	return n.Kind == Scalar && n.Scalar == nil && !n.Bad
}

// Plain is a document as decoded JSON.
func (n *Node) Plain() any {
	switch n.Kind {
	case Mapping:
		fields := map[string]any{}
		for _, f := range n.Fields {
			fields[f.Key] = f.Value.Plain()
		}
		return fields
	case List:
		items := []any{}
		for _, item := range n.Items {
			items = append(items, item.Plain())
		}
		return items
	}
	return n.Scalar
}

// Nodes counts the keys and values of a document, itself included.
func (n *Node) Nodes() int {
	nodes := 1
	for _, f := range n.Fields {
		nodes += 1 + f.Value.Nodes()
	}
	for _, item := range n.Items {
		nodes += item.Nodes()
	}
	return nodes
}

// at is a list of one problem.
func at(file string, line, column int, format string, args ...any) problem.List {
	return problem.List{{
		Position: problem.Position{File: file, Line: line, Column: column},
		Message:  fmt.Sprintf(format, args...),
	}}
}

// Get returns the value of a key of a mapping, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	if f := n.field(key); f != nil {
		return f.Value
	}
	return nil
}

// Removed returns the place of the null that took a key away from a mapping.
func (n *Node) Removed(key string) (problem.Position, bool) {
	position, ok := n.removed[key]
	return position, ok
}

// item returns the item of a list at an index, or nil.
func (n *Node) item(index string) *Node {
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(n.Items) {
		return n.Items[i]
	}
	return nil
}

func (n *Node) field(key string) *Field {
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return &n.Fields[i]
		}
	}
	return nil
}

// index finds fields as field does, in a time that does not grow with the mapping.
func (n *Node) index() func(key string) *Field {
	if len(n.Fields) <= 16 { // which are found faster one after the other
		return n.field
	}
	at := make(map[string]*Field, len(n.Fields))
	for i := range n.Fields {
		at[n.Fields[i].Key] = &n.Fields[i]
	}
	return func(key string) *Field { return at[key] }
}

// Locate returns the position of the value at a path of keys and indexes or,
// where the document does not say it, of the key that should contain it.
func (n *Node) Locate(path ...string) problem.Position {
	position := n.Position
	for _, step := range path {
		if item := n.item(step); item != nil {
			position, n = item.Position, item
			continue
		}
		f := n.field(step)
		if f == nil {
			return position
		}
		position, n = f.Position, f.Value
	}
	if n.Kind == Scalar {
		return n.Position
	}
	return position
}
