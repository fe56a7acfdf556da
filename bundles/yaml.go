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

// renderer writes objects as canonical YAML: sorted keys, two spaces a level, lists
// at their key's level, text of several lines as a block, and quotes wherever some
// version of YAML could read a string as anything else.
//
// The text of a shape is laid out once; an object is that text with its leaves
// filled in, which takes no copying.
type renderer struct {
	scalars scalars
	blocks  blocks
	scratch []byte // what shapes are laid out in, one after the other
}

func newRenderer() *renderer { return &renderer{scalars: scalars{}, blocks: blocks{}} }

// scalars are texts, numbers and the like as they are written: the same few come
// again and again.
type scalars map[any][]byte

func (s scalars) of(value any) []byte {
	text, ok := s[value]
	if !ok {
		text = appendScalar(nil, value)
		s[value] = text
	}
	return text
}

// blocks are texts of several lines as they are written, or nothing where no block holds them. Most of an object is a few
// scripts, which come in all of them.
type blocks map[blockKey][]byte

type blockKey struct {
	text   string
	indent int
}

func (b blocks) of(text string, indent int) []byte {
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

// layout is the text of a shape, cut where a leaf goes.
type layout struct {
	parts  [][]byte // one more than leaves
	leaves []int    // which leaf goes behind each part but the last
}

// layoutKey is what shapes keep their layout under.
type layoutKey struct{}

// append adds the text of an object to some content.
func (r *renderer) append(to Content, o object.Object) Content {
	shape, values := o.Shape()
	l, _ := shape.Derive(layoutKey{}, func() any { return r.layOut(shape) }).(*layout)
	for i, leaf := range l.leaves {
		to = append(to, l.parts[i], r.scalars.of(values[leaf]))
	}
	return append(to, l.parts[len(l.leaves)])
}

// text is an object's text by itself.
func (r *renderer) text(o object.Object) Content {
	shape, _ := o.Shape()
	return r.append(make(Content, 0, 2*len(shape.Leaves())+1), o)
}

// layOut writes the text of a shape.
func (r *renderer) layOut(shape *object.Shape) *layout {
	w := &writer{renderer: r, text: r.scratch[:0]}
	w.mapping(shape.Fields(), 0, newPlaces(shape.Leaves()))
	r.scratch = w.text
	l, text, start := &layout{leaves: w.order}, slices.Clone(w.text), 0
	for _, cut := range append(w.cuts, len(text)) {
		l.parts = append(l.parts, text[start:cut:cut])
		start = cut
	}
	return l
}

// writer lays out one value.
type writer struct {
	*renderer
	text  []byte
	cuts  []int // where leaves go
	order []int // and which
}

func (w *writer) mapping(fields map[string]any, indent int, at *places) {
	for i, key := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			w.indent(indent)
		}
		w.key(key, indent)
		w.value(fields[key], indent, at.field(key))
	}
}

// longKey is from where on YAML wants a key to be announced, and its value on a line of its own.
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

// value writes what follows a key.
func (w *writer) value(value any, indent int, at *places) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			w.text = append(w.text, '\n')
			w.indent(indent + 1)
			w.mapping(value, indent+1, at)
			return
		}
	case []any:
		if len(value) > 0 {
			w.text = append(w.text, '\n')
			w.list(value, indent, at)
			return
		}
	}
	w.text = append(w.text, ' ')
	w.inline(value, indent, at)
}

func (w *writer) list(items []any, indent int, at *places) {
	for i, item := range items {
		w.indent(indent)
		w.text = append(w.text, '-', ' ')
		switch item := item.(type) {
		case map[string]any:
			if len(item) > 0 {
				w.mapping(item, indent+1, at.item(i))
				continue
			}
		case []any:
			if len(item) > 0 {
				w.nested(item, indent+1, at.item(i))
				continue
			}
		}
		w.inline(item, indent, at.item(i))
	}
}

// nested writes a list in a list, whose first item stands behind the dash of the outer one.
func (w *writer) nested(items []any, indent int, at *places) {
	start := len(w.text)
	w.list(items, indent, at)
	w.text = slices.Delete(w.text, start, start+2*indent)
	for i := range w.cuts {
		if w.cuts[i] > start {
			w.cuts[i] -= 2 * indent
		}
	}
}

// inline writes a value that stands on the line of its key or dash, and ends the line.
func (w *writer) inline(value any, indent int, at *places) {
	if at != nil && at.leaf >= 0 {
		w.cuts, w.order = append(w.cuts, len(w.text)), append(w.order, at.leaf)
		w.text = append(w.text, '\n')
		return
	}
	text, isText := value.(string)
	if !isText {
		w.text = append(appendScalar(w.text, value), '\n')
		return
	}
	if block := w.blocks.of(text, indent+1); block != nil {
		w.text = append(w.text, block...)
		return
	}
	w.text = append(append(w.text, w.scalars.of(text)...), '\n')
}

func (w *writer) indent(levels int) { w.text = appendIndent(w.text, levels) }

func appendIndent(to []byte, levels int) []byte {
	for range levels {
		to = append(to, ' ', ' ')
	}
	return to
}

// appendBlock writes text of several lines as it is.
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

// isBlock tells text of several lines that a block can hold: one that starts with
// white space would need its indentation told, and other white space at the end of
// a line, or what is not printable, is better seen.
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

// appendScalar writes a value that is no block, and no mapping or list with content.
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
	text, _ := json.Marshal(value) // a float, {} or []
	return append(to, text...)
}

// plainText is text that no version of YAML reads as anything but itself. It starts
// with a letter, or with a character that means nothing; a colon goes on, and a
// hash does not follow a space.
var plainText = regexp.MustCompile(`^[A-Za-z0-9_/$.-](?:[A-Za-z0-9_/$.()=@%+*,<>;!?'"&|~^\\[\]{}-]|:[A-Za-z0-9_/$.(-]| [A-Za-z0-9_/$.()=@%+*,<>;!?'"&|~^\\-])*$`)

// words are what YAML 1.1 or 1.2 read as true, false or null, in lower case.
var words = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true, "": true,
}

// appendString writes a string on one line, without quotes where that is safe.
func appendString(to []byte, text string) []byte {
	if isPlain(text) {
		return append(to, text...)
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '\'' || r == '\\' || !unicode.IsPrint(r) || r > unicode.MaxASCII }) && strings.Contains(text, `"`) {
		to = append(to, '\'')
		to = append(to, text...)
		return append(to, '\'')
	}
	return appendQuoted(to, text)
}

// isPlain tells text that may go without quotes.
func isPlain(text string) bool {
	if len(text) > 200 || !plainText.MatchString(text) || words[strings.ToLower(text)] {
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

// isQuantity tells text such as 4Gi from a number in any base, a date and a time.
func isQuantity(text string) bool {
	beyondHex := func(r rune) bool { return r >= 'g' && r <= 'z' || r >= 'G' && r <= 'Z' }
	return !strings.ContainsAny(text, "_:") && text[0] != '0' && strings.ContainsFunc(text, beyondHex)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// appendQuoted writes double quotes, and escapes whatever could not be seen or
// would not survive.
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
