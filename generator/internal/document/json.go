package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

func parseJSON(name string, text []byte) ([]*Node, error) {
	r := &jsonReader{file: name, text: text, decoder: json.NewDecoder(bytes.NewReader(text))}
	r.decoder.UseNumber()
	node, err := r.readValue(0)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, r.syntaxError(err)
	}
	return []*Node{node}, r.problems.Err()
}

// jsonReader builds nodes from the tokens of encoding/json's decoder, and computes positions from the decoder's
// offsets.
type jsonReader struct {
	file     string
	text     []byte
	decoder  *json.Decoder
	cursor   cursor
	nodes    int
	problems problem.List
}

// readValue reads the next value of the JSON text. The error is a problem.List, or an error of the
// decoder.
func (r *jsonReader) readValue(depth int) (*Node, error) {
	n := &Node{Position: r.nextPosition()}
	r.nodes++
	if depth > MaxDepth || r.nodes > MaxNodes {
		return nil, errorAt(r.file, n.Line, n.Column, "too large: want at most %d levels of nested mappings and lists, and at most %d values", MaxDepth, MaxNodes)
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
		n.Scalar, n.Text = toInteger(token), token.String()
		if f, ok := n.Scalar.(float64); ok && math.IsInf(f, 0) {
			return nil, errorAt(r.file, n.Line, n.Column, "%.60q is not a finite number", n.Text)
		}
	default:
		n.Scalar, n.Text = token, fmt.Sprint(token)
	}
	return n, nil
}

// toInteger converts an integer to an int64, because a float64 cannot represent all integers. Other numbers become a
// float64: numbers with a fraction or an exponent, and numbers outside of the range of int64.
func toInteger(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, _ := n.Float64()
	return f
}

func (r *jsonReader) list(n *Node, depth int) error {
	n.Kind = List
	for r.decoder.More() {
		item, err := r.readValue(depth + 1)
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
		position := r.nextPosition()
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		value, err := r.readValue(depth + 1)
		if err != nil {
			return err
		}
		if first, ok := seen[key]; ok {
			r.problems = append(r.problems, duplicateKey(position, key, first)...)
			continue
		}
		seen[key] = position
		n.Fields = append(n.Fields, Field{Position: position, Key: key, Value: value})
	}
	_, err := r.decoder.Token()
	return err
}

func duplicateKey(p problem.Position, key string, first problem.Position) problem.List {
	return errorAt(p.File, p.Line, p.Column, "key %.60q is already set at line %d", key, first.Line)
}

func (r *jsonReader) end() error {
	position := r.nextPosition()
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return errorAt(r.file, position.Line, position.Column, "text after the end of the document")
	}
	return nil
}

// nextPosition skips white space, commas and colons after the previous token, and returns the position of the next
// token.
func (r *jsonReader) nextPosition() problem.Position {
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

// syntaxError replaces the message of the JSON decoder by a message that the author of the document can understand.
// syntaxError also adds the position of the error.
func (r *jsonReader) syntaxError(err error) error {
	var list problem.List
	var syntax *json.SyntaxError
	if errors.As(err, &list) {
		return list
	}
	position, message := findEnd(r.file, r.text), "the text ends here, and a bracket or quote is not closed"
	if conflict, ok := mergeConflict(r.file, r.text); ok {
		position, message = conflict, conflictMessage
	} else if errors.As(err, &syntax) {
		position, message = r.nextPosition(), oneLine(syntax.Error())
		if found := invalidCharacter.FindStringSubmatch(syntax.Error()); found != nil {
			position, message = r.findInvalid(found[1], found[2]), jsonMessage(found[1], found[2])
		}
	}
	return errorAt(r.file, position.Line, position.Column, "not JSON: %s", message)
}

var invalidCharacter = regexp.MustCompile(`^invalid character ('.+'|'"')(?: (.*))?$`)

// findInvalid returns the position of the character that the decoder refused. It searches for this character after the
// last token, because the offset in the decoder's error can be before or after the character. For most errors in a
// string, findInvalid returns the start of the string.
func (r *jsonReader) findInvalid(quoted, context string) problem.Position {
	start := min(int(r.decoder.InputOffset()), len(r.text))
	character, err := strconv.Unquote(quoted)
	if at := strings.Index(string(r.text[start:]), character); err == nil && at >= 0 && !strings.HasPrefix(context, "in string") {
		return r.position(start + at)
	}
	return r.nextPosition()
}

func jsonMessage(found, context string) string {
	message := jsonMessages[context]
	found = strings.ReplaceAll(found, `\'`, "'") // the decoder escapes a single quote
	switch {
	case found == `'/'` || found == `'#'`:
		return "comments are not allowed in JSON"
	case strings.HasPrefix(context, "in string escape") || strings.HasPrefix(context, "in \\u"):
		return `this text contains an unknown escape: write "\\" for a backslash`
	case found == `'}'` && context == "looking for beginning of object key string", found == `']'` && context == "looking for beginning of value":
		return fmt.Sprintf("a comma before %q is not allowed", strings.Trim(found, "'"))
	case found == `','` || found == `'}'`:
		return "want a value, got " + found
	case message == "":
		return fmt.Sprintf("want a value, got %s: write text in double quotes", found)
	case strings.HasPrefix(message, "want"):
		return fmt.Sprintf("%s, got %s", message, found)
	}
	return message
}

// jsonMessages is a map that contains messages for the author of the document. Each key of the map is the last part of
// an error message of the JSON decoder. This part describes where the decoder found an invalid character.
var jsonMessages = map[string]string{
	"in string literal":                          "the quote that opens here is not closed on its line",
	"looking for beginning of object key string": "want a key in double quotes",
	"":                            "want a key in double quotes", // the decoder names no context for the first key of a mapping
	"after object key":            `want ":" and a value after the key`,
	"after object key:value pair": `want "," or "}"`,
	"after array element":         `want "," or "]"`,
}
