// Package document parses YAML and JSON into a tree of nodes with positions, and reports only syntax errors. The
// package limits the size, the depth and the number of nodes of a text, because the input is untrusted.
package document

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/trainyard/trainyard/generator/problem"
)

// Limits of one input file.
const (
	MaxBytes     = 1 << 20 // bytes of text
	MaxDepth     = 64      // nested mappings and lists
	MaxNodes     = 100_000 // values, after aliases are expanded
	MaxDocuments = 1000    // documents in a stream, including empty ones
)

const byteOrderMark = "\uFEFF"

// Parse reads a file with one document. A file named *.json is read as JSON, and any other file as YAML. A text without
// a value, such as a text that contains only comments, is an empty document. The error is a problem.List. If Parse
// returns a document together with an error, callers can still check the document for more problems.
func Parse(name string, text []byte) (*Node, error) {
	documents, err := parse(name, text, true)
	switch {
	case len(documents) > 0:
		return documents[0], err
	case err != nil:
		return nil, err
	}
	return &Node{Position: problem.Position{File: name, Line: 1, Column: 1}, Text: "null"}, nil
}

// ParseStream reads the Kubernetes objects of a YAML stream or JSON file, in the order of the text. ParseStream omits
// empty documents. Unlike Parse, ParseStream reads booleans and numbers by the rules of YAML 1.1, as kubectl does.
// The limits of this package apply to the whole stream, and not to each document separately. The error is a
// problem.List. If a document is unreadable, ParseStream returns the earlier documents together with the error.
func ParseStream(name string, text []byte) ([]*Node, error) {
	return parse(name, text, false)
}

// parse reads all documents of a text except empty documents. If the argument "single" is true, a second document is an
// error. An unreadable document is always an error. If "single" is true and one of these two errors occurs, parse
// returns the error and no documents. If "single" is false and a document is unreadable, parse returns the error and
// the documents before the unreadable document.
func parse(name string, text []byte, single bool) ([]*Node, error) {
	if err := Check(name, text); err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	switch isJSON := strings.EqualFold(path.Ext(name), ".json"); {
	case !isJSON:
		return parseYAML(name, text, single)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	}
	return parseJSON(name, text)
}

// Check returns an error if a text is too large or is not encoded in UTF-8.
func Check(name string, text []byte) error {
	if len(text) > MaxBytes {
		return errorAt(name, 1, 1, "file is larger than %d bytes", MaxBytes)
	}
	hasNull := bytes.IndexByte(text[:min(2, len(text))], 0) >= 0
	if hasNull || bytes.HasPrefix(text, []byte("\xFF\xFE")) || bytes.HasPrefix(text, []byte("\xFE\xFF")) {
		return errorAt(name, 1, 1, "text is UTF-16: save the file as UTF-8")
	}
	if utf8.Valid(text) {
		return nil
	}
	var c cursor
	for offset, r := range string(text) {
		if _, size := utf8.DecodeRune(text[offset:]); r == utf8.RuneError && size == 1 {
			line, column := c.advance(text, offset)
			return errorAt(name, line, column, "text is not UTF-8: save the file as UTF-8")
		}
	}
	return nil
}

func errorAt(file string, line, column int, format string, args ...any) problem.List {
	return problem.List{{
		Position: problem.Position{File: file, Line: line, Column: column},
		Rule:     problem.Syntax,
		Message:  fmt.Sprintf(format, args...),
	}}
}

// cursor converts byte offsets of a text to lines and columns. If the offsets are in ascending order, all
// conversions together read the text only once.
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
