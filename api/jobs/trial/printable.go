package trial

import (
	"regexp"
	"strings"
	"unicode"
)

const (
	// maxLine and maxText are the maximum lengths of a line and of a text from a pod or a controller, in characters.
	maxLine = 300
	maxText = 3000
)

// escapeSequences are control sequences that move a terminal's cursor or change its colours or title (ECMA-48).
var escapeSequences = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)

// makePrintable makes text from logs safe to print on a terminal, so that a log cannot forge findings of a trial.
func makePrintable(text string) string {
	text = escapeSequences.ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = shorten(strings.Map(printableRune, line), maxLine)
	}
	return shorten(strings.Join(lines, "\n"), maxText)
}

func printableRune(r rune) rune {
	switch {
	case r == '\t' || unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r): // includes characters that reverse the direction of text
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

func oneLine(text string) string { return strings.ReplaceAll(makePrintable(text), "\n", " ") }
