package generator

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// choice completes a message about a word that is not among those allowed:
// with the one that was meant, if one is near, else with all of them.
func choice(message, word string, allowed []string) string {
	if meant := problem.Nearest(word, allowed); meant != "" {
		return fmt.Sprintf("%s: did you mean %s?%s", message, problem.Quote(meant), strange(word))
	}
	if len(allowed) == 0 {
		return message + ": there is none"
	}
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = problem.Quote(a)
	}
	return fmt.Sprintf("%s: want one of %s", message, strings.Join(quoted, ", "))
}

// meantBy is the value that a person probably meant by a text, as it is written; "" if none is near.
func meantBy(text string, want constraint.Constraint) string {
	if want.Kind == cue.BoolKind {
		return switches[strings.ToLower(text)]
	}
	meant := problem.Nearest(text, want.Words())
	if meant == "" || unicode.IsDigit(rune(meant[0])) { // one version is as near as another
		return ""
	}
	return problem.Quote(meant)
}

// switches are words for true and false that YAML had once.
var switches = map[string]string{
	"y": "true", "yes": "true", "on": "true", "true": "true",
	"n": "false", "no": "false", "off": "false", "false": "false",
}

// strange points out a letter of a word that only looks like the one that is meant.
func strange(word string) string {
	for _, r := range word {
		if r > unicode.MaxASCII && unicode.IsPrint(r) {
			return fmt.Sprintf(" (yours has U+%04X, %q)", r, string(r))
		}
	}
	return ""
}

// describe names a node in a message: its value, and its kind where a value of
// another kind is wanted.
func describe(n *document.Node, want cue.Kind) string {
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
			return "the text " + problem.Quote(scalar)
		}
		return problem.Quote(scalar)
	case bool:
		return n.Text
	default:
		if want&cue.NumberKind == 0 {
			return "the number " + problem.Number(n.Text)
		}
		return problem.Number(n.Text)
	}
}

func lowerFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(r)) + text[size:]
}
