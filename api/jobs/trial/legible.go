package trial

import (
	"regexp"
	"strings"
	"unicode"
)

const (
	// maxLine and maxText bound what is shown of what pods and controllers say, in characters.
	maxLine = 300
	maxText = 3000
)

// escapes are what moves a terminal's cursor, changes its colours or its title (ECMA-48).
var escapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)

// legible makes text of others fit to be shown, on a terminal too: whoever writes a log must not
// write what a trial seems to have found.
func legible(text string) string {
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = shorten(strings.Map(printable, line), maxLine)
	}
	return shorten(strings.Join(lines, "\n"), maxText)
}

func printable(r rune) rune {
	switch {
	case r == '\t' || unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r): // that includes what turns the direction of writing
		return '�'
	}
	return r
}

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// oneLine is legible text for a place that has no room for more.
func oneLine(text string) string { return strings.ReplaceAll(legible(text), "\n", " ") }
