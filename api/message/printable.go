package message

import (
	"regexp"
	"strings"
	"unicode"
)

// escapeSequences matches the control sequences of terminals (ECMA-48). Control sequences can move the cursor, change
// colors, or set the title of the window.
var escapeSequences = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)

// Printable makes text from other programs safe to print on a terminal. Printable removes control sequences,
// replaces characters that terminals do not show, and keeps line breaks. Printable replaces a carriage return with a
// line break, so that the text after the carriage return does not overwrite the line.
func Printable(text string) string {
	text = escapeSequences.ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(printableRune, text)
}

// PrintableLine is like Printable, but replaces line breaks with spaces, and removes spaces at both ends.
func PrintableLine(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(Printable(text), "\n", " "))
}

func printableRune(r rune) rune {
	switch {
	case r == '\n':
		return r
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r): // includes characters that reverse the direction of text
		return '�'
	}
	return r
}
