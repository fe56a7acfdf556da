package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trainyard/trainyard/generator/problem"
)

func parseJSON(name string, text []byte) (*Node, error) {
	r := &jsonReader{file: name, text: text, decoder: json.NewDecoder(bytes.NewReader(text))}
	r.decoder.UseNumber()
	node, err := r.value(0)
	if err == nil {
		err = r.end()
	}
	switch {
	case err != nil && len(bytes.TrimSpace(text)) == 0:
		return nothing(name), nil
	case err != nil:
		return nil, r.explain(err)
	}
	return node, r.problems.Err()
}

// jsonReader builds nodes from the standard library's tokens and their offsets.
type jsonReader struct {
	file     string
	text     []byte
	decoder  *json.Decoder
	cursor   cursor
	nodes    int
	problems problem.List
}

// value reads the next value. Its error is a problem.List, or what the decoder said.
func (r *jsonReader) value(depth int) (*Node, error) {
	n := &Node{Position: r.next()}
	r.nodes++
	if depth > MaxDepth || r.nodes > MaxNodes {
		return nil, at(r.file, n.Line, n.Column, "more than %d levels or %d values", MaxDepth, MaxNodes)
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return n, r.list(n, depth)
		}
		return n, r.object(n, depth)
	case json.Number:
		n.Scalar, n.Text = number(token), token.String()
		if f, ok := n.Scalar.(float64); ok && math.IsInf(f, 0) {
			return nil, at(r.file, n.Line, n.Column, "%.60q is not a number that can be used", n.Text)
		}
	default:
		n.Scalar, n.Text = token, fmt.Sprint(token)
	}
	return n, nil
}

func (r *jsonReader) list(n *Node, depth int) error {
	n.Kind = List
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := r.decoder.Token()
	return err
}

func (r *jsonReader) object(n *Node, depth int) error {
	n.Kind = Mapping
	seen := map[string]problem.Position{}
	for r.decoder.More() {
		position := r.next()
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if first, ok := seen[key]; ok {
			r.problems = append(r.problems, at(r.file, position.Line, position.Column, "key %.60q is already set at line %d", key, first.Line)...)
			continue
		}
		seen[key] = position
		n.Fields = append(n.Fields, Field{Position: position, Key: key, Value: value})
	}
	_, err := r.decoder.Token()
	return err
}

// end makes sure that nothing follows the document.
func (r *jsonReader) end() error {
	position := r.next()
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return at(r.file, position.Line, position.Column, "text after the end of the document")
	}
	return nil
}

// next is the position of the next token: the decoder stands behind the last
// one, before any white space, comma or colon.
func (r *jsonReader) next() problem.Position {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[offset]) >= 0 {
		offset++
	}
	return r.position(offset)
}

func (r *jsonReader) position(offset int) problem.Position {
	line, column := r.cursor.advance(r.text, min(offset, len(r.text)))
	return problem.Position{File: r.file, Line: line, Column: column}
}

// cursor remembers the last place asked for: places are asked for in the order
// of the text, and counting each from the start would take quadratic time.
type cursor struct{ offset, line, column int }

func (c *cursor) advance(text []byte, offset int) (line, column int) {
	if c.line == 0 || offset < c.offset {
		*c = cursor{line: 1, column: 1}
	}
	for c.offset < offset {
		r, size := utf8.DecodeRune(text[c.offset:])
		c.offset += size
		c.column++
		if r == '\n' || r == '\r' && (c.offset == len(text) || text[c.offset] != '\n') {
			c.line, c.column = c.line+1, 1
		}
	}
	return c.line, c.column
}

// number keeps integers exact.
func number(n json.Number) any {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i
	}
	f, _ := n.Float64()
	return f
}
