package safeyaml

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// libraryError matches the errors of the YAML library.
var libraryError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// ParseError converts an error of the YAML library about a text.
//
// The library counts the lines of some errors from 0, and names no line if it would be 0, or if it finds invalid characters.
func ParseError(text []byte, err error) *MistakeError {
	parts := libraryError.FindStringSubmatch(err.Error())
	if parts == nil {
		return &MistakeError{1, err.Error()}
	}
	line, _ := strconv.Atoi(parts[1])
	switch message := parts[2]; {
	case strings.HasPrefix(message, "did not find expected"):
		line++
	case strings.Contains(message, "UTF-8"):
		line = lineWith(text, func(r rune, size int) bool { return r == utf8.RuneError && size == 1 })
	case strings.HasPrefix(message, "control characters"):
		line = lineWith(text, func(r rune, _ int) bool {
			return r < ' ' && !strings.ContainsRune("\t\n\r", r) || r >= 0x7f && r < 0xa0 && r != 0x85
		})
	}
	lines := 1 + bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n"))
	return &MistakeError{max(1, min(line, lines)), parts[2]}
}

// lineWith returns the line of the first character for which the function returns true, or 0. The function gets the character and its
// size in bytes.
func lineWith(text []byte, match func(r rune, size int) bool) int {
	line := 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if match(r, size) {
			return line
		}
		if r == '\n' {
			line++
		}
		i += size
	}
	return 0
}
