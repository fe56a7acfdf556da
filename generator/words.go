package generator

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxShown bounds how much of a person's own value a message repeats, in characters.
const maxShown = 60

// choice completes a message about a word that is not among those allowed:
// with the one that was meant, if one is near, else with all of them.
func choice(message, word string, allowed []string) string {
	if meant := problem.Nearest(word, allowed); meant != "" {
		return fmt.Sprintf("%s: did you mean %s?", message, quote(meant))
	}
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = quote(a)
	}
	return fmt.Sprintf("%s: want one of %s", message, strings.Join(quoted, ", "))
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
			return "the text " + quote(scalar)
		}
		return quote(scalar)
	case bool:
		return n.Text
	default:
		if want&cue.NumberKind == 0 {
			return "the number " + shorten(n.Text)
		}
		return shorten(n.Text)
	}
}

// quote shows text on one line, shortened, with nothing that steers a terminal.
func quote(text string) string {
	return strconv.Quote(shorten(text))
}

func shorten(text string) string { return shortenTo(text, maxShown) }

func shortenTo(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_/-]{1,60}$`)

// join writes a path as spec.runtimes.a.env.HOME, quoting keys that would be ambiguous.
func join(path []string) string {
	shown := make([]string, len(path))
	for i, key := range path {
		if shown[i] = key; !plainKey.MatchString(key) {
			shown[i] = quote(key)
		}
	}
	return strings.Join(shown, ".")
}

func lowerFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(r)) + text[size:]
}
