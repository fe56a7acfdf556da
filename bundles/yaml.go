package bundles

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trainyard/trainyard/generator/object"
)

// renderer writes objects as canonical YAML. Keys are sorted, each level is indented by two spaces, and a list has the
// same indentation as its key. Text of several lines is written as a block scalar. A string is quoted if any version of
// YAML could read it as another type.
//
// Objects of the same shape differ only in the values of their parameters. The renderer writes the text of a shape only
// once, and cuts the text into pieces at the parameters. The content of an object consists of these pieces, with the
// object's parameter values between the pieces. All objects of the same shape share the pieces, so the renderer does not
// copy the text.
type renderer struct {
	scalars scalarCache
	blocks  blockCache
	scratch []byte // buffer for the text of one shape
}

func newRenderer() *renderer { return &renderer{scalars: scalarCache{}, blocks: blockCache{}} }

// scalarCache caches the text of scalars, because the same few values occur again and again.
type scalarCache map[any][]byte

func (s scalarCache) of(value any) []byte {
	text, ok := s[value]
	if !ok {
		text = appendScalar(nil, value)
		s[value] = text
	}
	return text
}

// blockCache caches block scalars. The cached value is nil for a text that cannot be written as a block scalar. The
// cache saves time, because most of the text consists of a few scripts that all runtimes share.
type blockCache map[blockKey][]byte

type blockKey struct {
	text   string
	indent int
}

func (b blockCache) of(text string, indent int) []byte {
	if !strings.Contains(text, "\n") {
		return nil
	}
	key := blockKey{text, indent}
	block, ok := b[key]
	if !ok {
		if isBlock(text) {
			block = appendBlock(nil, text, indent)
		}
		b[key] = block
	}
	return block
}

// layout is YAML text that was cut into pieces at the positions of some values, such as the values of parameters.
type layout struct {
	texts  [][]byte // the pieces; their number is the number of values plus one
	values []int    // for each piece except the last: the index of the value that follows the piece
}

// layoutKey is the key under which a shape caches its layout.
type layoutKey struct{}

func (r *renderer) append(to Content, o object.Object) Content {
	shape, values := o.Shape()
	l, _ := shape.Derive(layoutKey{}, func() any { return r.layOut(shape.Fields(), shape.Parameters()) }).(*layout)
	for i, value := range l.values {
		to = append(to, l.texts[i], r.scalars.of(values[value]))
	}
	return append(to, l.texts[len(l.values)])
}

func (r *renderer) text(o object.Object) Content { return r.append(nil, o) }

// placeholder marks the position of one value in the text that layOut writes. In the argument "paths" of layOut,
// paths[i] is the path of a value, and placeholder(i) stands for this value.
type placeholder int

// layOut writes the fields as YAML text, and cuts the text at each value whose path is in the
// argument "paths".
func (r *renderer) layOut(fields map[string]any, paths [][]any) *layout {
	placeholders := make([]any, len(paths))
	for i := range paths {
		placeholders[i] = placeholder(i)
	}
	w := &writer{renderer: r, text: r.scratch[:0]}
	w.writeMapping(object.With(fields, paths, placeholders), 0)
	r.scratch = w.text
	l, text, start := &layout{values: w.values}, slices.Clone(w.text), 0
	for _, cut := range append(w.cuts, len(text)) {
		l.texts = append(l.texts, text[start:cut:cut])
		start = cut
	}
	return l
}

type writer struct {
	*renderer
	text   []byte
	cuts   []int // the offsets in text at which values are inserted
	values []int // the index of the value at each offset
}

// writeMapping writes the keys and values of a mapping, sorted by key. The first key is written on the current line.
func (w *writer) writeMapping(fields map[string]any, indent int) {
	for i, key := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			w.indent(indent)
		}
		w.key(key, indent)
		w.writeValue(fields[key], indent)
	}
}

// longKey is the maximum length of a simple key in bytes. A key with more than longKey bytes begins with a question
// mark, as YAML requires.
const longKey = 1000

func (w *writer) key(key string, indent int) {
	text := w.scalars.of(key)
	if len(text) > longKey {
		w.text = append(w.text, "? "...)
		w.text = append(append(w.text, text...), '\n')
		w.indent(indent)
		text = nil
	}
	w.text = append(append(w.text, text...), ':')
}

// writeValue writes the value of a key. The writer has already written the key and the colon.
func (w *writer) writeValue(value any, indent int) {
	if mapping, _ := value.(map[string]any); len(mapping) > 0 {
		w.text = append(w.text, '\n')
		w.indent(indent + 1)
		w.writeMapping(mapping, indent+1)
	} else if list, _ := value.([]any); len(list) > 0 {
		w.text = append(w.text, '\n')
		w.indent(indent)
		w.writeList(list, indent)
	} else {
		w.text = append(w.text, ' ')
		w.writeInline(value, indent)
	}
}

// writeList writes the items of a list. writeList continues the current line with the first item,
// and indents all later items.
func (w *writer) writeList(items []any, indent int) {
	for i, item := range items {
		if i > 0 {
			w.indent(indent)
		}
		w.text = append(w.text, '-', ' ')
		if mapping, _ := item.(map[string]any); len(mapping) > 0 {
			w.writeMapping(mapping, indent+1)
		} else if list, _ := item.([]any); len(list) > 0 {
			w.writeList(list, indent+1)
		} else {
			w.writeInline(item, indent)
		}
	}
}

// writeInline writes a value and a line break. The value begins on the current line. If the value is a list item, the
// line already contains the dash. Otherwise, the line already contains the colon that follows the key.
func (w *writer) writeInline(value any, indent int) {
	switch value := value.(type) {
	case placeholder:
		w.cuts, w.values = append(w.cuts, len(w.text)), append(w.values, int(value))
	case string:
		if block := w.blocks.of(value, indent+1); block != nil {
			w.text = append(w.text, block...)
			return
		}
		w.text = append(w.text, w.scalars.of(value)...)
	default:
		w.text = appendScalar(w.text, value)
	}
	w.text = append(w.text, '\n')
}

func (w *writer) indent(levels int) { w.text = appendIndent(w.text, levels) }

func appendIndent(to []byte, levels int) []byte {
	for range levels {
		to = append(to, ' ', ' ')
	}
	return to
}

func appendBlock(to []byte, text string, indent int) []byte {
	body := strings.TrimRight(text, "\n")
	switch len(text) - len(body) {
	case 0:
		to = append(to, "|-\n"...)
	case 1:
		to = append(to, "|\n"...)
	default:
		to = append(to, "|+\n"...)
	}
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		if line != "\n" {
			to = appendIndent(to, indent)
		}
		to = append(to, line...)
	}
	return to
}

// isBlock reports whether text of several lines is written as a block scalar. Text that begins with white space is
// quoted, because a block scalar would need an indentation indicator. Text with unprintable characters, or with white
// space at the end of a line, is quoted so that readers notice these characters.
func isBlock(text string) bool {
	if !strings.Contains(strings.TrimRight(text, "\n"), "\n") || strings.ContainsAny(text[:1], " \t\n") {
		return false
	}
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSuffix(line, "\n"); strings.TrimRight(trimmed, " \t") != trimmed {
			return false
		}
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
}

// appendScalar appends a scalar, an empty mapping or an empty list, on one line.
func appendScalar(to []byte, value any) []byte {
	switch value := value.(type) {
	case string:
		return appendString(to, value)
	case int64:
		return strconv.AppendInt(to, value, 10)
	case bool:
		return strconv.AppendBool(to, value)
	case nil:
		return append(to, "null"...)
	}
	text, _ := json.Marshal(value) // value is a float, {} or []
	return append(to, text...)
}

// plainText matches text without the special syntax of YAML. Such a text starts with a letter, a digit or one of the
// characters _, /, $, . and -. It contains no hash character, no colon before a space, and no colon at the end. It can
// still be a number or a reserved word, which the function isPlain excludes.
var plainText = regexp.MustCompile(`^[A-Za-z0-9_/$.-](?:[A-Za-z0-9_/$.()=@%+*,<>;!?'"&|~^\\[\]{}-]|:[A-Za-z0-9_/$.(-]| [A-Za-z0-9_/$.()=@%+*,<>;!?'"&|~^\\-])*$`)

// reservedWords contains, in lower case, the words that YAML 1.1 or 1.2 reads as true, false or null.
var reservedWords = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true, "": true,
}

func appendString(to []byte, text string) []byte {
	if isPlain(text) {
		return append(to, text...)
	}
	unsafe := func(r rune) bool { return r == '\'' || r == '\\' || !unicode.IsPrint(r) || r > unicode.MaxASCII }
	if strings.Contains(text, `"`) && !strings.ContainsFunc(text, unsafe) {
		return append(append(append(to, '\''), text...), '\'')
	}
	return appendQuoted(to, text)
}

// isPlain reports whether a text is written on one line without quotes. It returns true only if every version of YAML
// reads the unquoted text as a string. For texts of more than 200 bytes, isPlain returns false.
func isPlain(text string) bool {
	if len(text) > 200 || !plainText.MatchString(text) || reservedWords[strings.ToLower(text)] {
		return false
	}
	switch first := text[0]; {
	case first == '.':
		return false // .inf and .nan
	case first == '-':
		return len(text) > 1 && isLetter(text[1])
	case first >= '0' && first <= '9':
		return isQuantity(text)
	}
	return true
}

// isQuantity returns true only for text that no version of YAML reads as a date, a time or a number. An example of
// such text is the quantity 4Gi. Callers must pass text that starts with a digit.
func isQuantity(text string) bool {
	beyondHex := func(r rune) bool { return r >= 'g' && r <= 'z' || r >= 'G' && r <= 'Z' }
	return !strings.ContainsAny(text, "_:") && text[0] != '0' && strings.ContainsFunc(text, beyondHex)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// appendQuoted appends the text in double quotes. appendQuoted escapes unprintable characters, and characters that have a
// special meaning between double quotes.
func appendQuoted(to []byte, text string) []byte {
	to = append(to, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r == '\n':
			to = append(to, `\n`...)
		case r == '\t':
			to = append(to, `\t`...)
		case unicode.IsPrint(r):
			to = utf8.AppendRune(to, r)
		case r <= 0xFFFF:
			to = fmt.Appendf(to, `\u%04x`, r)
		default:
			to = fmt.Appendf(to, `\U%08x`, r)
		}
	}
	return append(to, '"')
}
