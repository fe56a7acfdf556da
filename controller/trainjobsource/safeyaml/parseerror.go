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

// parserError matches errors of the YAML library's parser, which counts lines from 0. parserError must not match errors
// of the library's scanner, which counts lines from 1. Errors of the parser and errors of the scanner can begin with
// the same words: "did not find expected". After these words, the pattern requires further words that occur only in
// errors of the parser, such as "node content".
var parserError = regexp.MustCompile(`^did not find expected (<stream-start>|<document start>|node content|key|'-' indicator|',' or '[\]}]')|^found (undefined tag handle|duplicate %|incompatible YAML)`)

// parseError converts an error of the YAML library to a *MistakeError. The argument "text" is the
// text for which the library returned the error.
//
// The parser of the library counts lines from 0, so parseError adds 1 to the line number of a parser error. An error of
// the library contains no line number if the error is in the first line, or if the text has invalid characters. In a
// text with invalid characters, parseError searches for the line of the first invalid character.
func parseError(text []byte, err error) *MistakeError {
	parts := libraryError.FindStringSubmatch(err.Error())
	if parts == nil {
		return &MistakeError{1, err.Error()}
	}
	line, _ := strconv.Atoi(parts[1])
	switch message := parts[2]; {
	case parserError.MatchString(message):
		line++
	case strings.Contains(message, "UTF-8") || strings.HasPrefix(message, "invalid Unicode"):
		line = lineWith(text, func(r rune, size int) bool { return r == utf8.RuneError && size == 1 })
	case strings.HasPrefix(message, "control characters"):
		line = lineWith(text, func(r rune, _ int) bool {
			return r < ' ' && !strings.ContainsRune("\t\n\r", r) || r >= 0x7f && r < 0xa0 && r != 0x85 || r >= 0xfffe
		})
	}
	text = bytes.TrimRight(text, "\r\n")
	lines := 1 + bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) - bytes.Count(text, []byte("\r\n"))
	return &MistakeError{max(1, min(line, lines)), parts[2]}
}

// lineWith returns the line of the first character for which the function "match" returns true, or 0 if there is none. The
// function "match" gets the character and its size in bytes.
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
