// Package message prepares user input for messages on one line. The package quotes and shortens the input, and escapes
// control characters. The package also makes text from other programs printable, and suggests corrections for
// misspelled words.
package message

import (
	"strconv"
	"strings"
	"unicode"
)

// maxLength is the maximum length of user input in a message, in characters. User input that is longer
// than maxLength is shortened.
const maxLength = 60

// Quote returns text as a quoted string on one line, shortened to 60 characters. Control characters are escaped.
func Quote(text string) string { return strconv.Quote(Shorten(text, maxLength)) }

// Shorten cuts a text after the given number of characters, and adds an ellipsis. If the text has at most this number
// of characters, Shorten returns the text unchanged.
func Shorten(text string, length int) string {
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length]) + "…"
	}
	return text
}

// Number shortens a long number. The argument "text" is the number as a string. If this string is longer than 60
// characters, Number returns the first 60 characters and an ellipsis. Otherwise Number returns the string unchanged.
func Number(text string) string { return Shorten(text, maxLength) }

// Plain reports whether a key can be written without quotes in the path of a field. Such a key consists of 1 to 60
// ASCII letters, digits, "_", "/" and "-".
func Plain(key string) bool {
	return key != "" && len(key) <= maxLength && !strings.ContainsFunc(key, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_/-", r)
	})
}
