// Package wording phrases parts of messages about documents.
package wording

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
)

// Choice completes a message about a word that is not allowed: with the nearest allowed word, or else with all
// of them.
func Choice(text, word string, allowed []string) string {
	if nearest := message.Nearest(word, allowed); nearest != "" {
		return fmt.Sprintf("%s: did you mean %s?%s", text, message.Quote(nearest), Lookalike(word))
	}
	if len(allowed) == 0 {
		return text + ": there is none"
	}
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = message.Quote(a)
	}
	return fmt.Sprintf("%s: want one of %s", text, strings.Join(quoted, ", "))
}

// Lookalike points out a letter of a word that only looks like an ASCII letter, or is empty.
func Lookalike(word string) string {
	for _, r := range word {
		if r > unicode.MaxASCII && unicode.IsPrint(r) {
			return fmt.Sprintf(" (yours has U+%04X, %q)", r, string(r))
		}
	}
	return ""
}

// Describe names a node in a message: its value, and its kind where a value of another kind is wanted.
func Describe(n *document.Node, want cue.Kind) string {
	switch n.Kind {
	case document.Mapping:
		return "a mapping"
	case document.List:
		return "a list"
	}
	switch scalar := n.Scalar.(type) {
	case nil:
		return "nothing"
	case string:
		if want&cue.StringKind == 0 {
			return "the text " + message.Quote(scalar)
		}
		return message.Quote(scalar)
	case bool:
		return n.Text
	default:
		if want&cue.NumberKind == 0 {
			return "the number " + message.Number(n.Text)
		}
		return message.Number(n.Text)
	}
}

// LowerFirst returns a text with its first letter in lower case.
func LowerFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(r)) + text[size:]
}
