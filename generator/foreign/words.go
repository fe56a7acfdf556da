package foreign

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
)

// maxShown bounds how much of a file's own text a message repeats, in characters.
const maxShown = 60

// describe names a node in a message: its value and kind.
func describe(n *document.Node) string {
	switch n.Kind {
	case document.Mapping:
		return "a mapping"
	case document.List:
		return "a list"
	}
	switch scalar := n.Scalar.(type) {
	case string:
		return "the text " + quote(scalar)
	case bool:
		return strconv.FormatBool(scalar)
	}
	return "the number " + shorten(n.Text)
}

// quote shows text on one line, shortened, with nothing that steers a terminal.
func quote(text string) string { return strconv.Quote(shorten(text)) }

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_/-]{1,60}$`)

// join writes a path as spec.template.spec.network, quoting keys that would be ambiguous.
func join(path []string) string {
	shown := make([]string, len(path))
	for i, key := range path {
		if shown[i] = key; !plainKey.MatchString(key) {
			shown[i] = quote(key)
		}
	}
	return strings.Join(shown, ".")
}
