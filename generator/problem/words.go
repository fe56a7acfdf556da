package problem

import (
	"strconv"
	"strings"
	"unicode"
)

// maxShown bounds how much of a person's own text a message repeats, in characters.
const maxShown = 60

// Quote shows text on one line, shortened, with nothing that steers a terminal.
func Quote(text string) string { return strconv.Quote(Shorten(text, maxShown)) }

// Shorten cuts text after so many characters.
func Shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Number shows a number as it is written, which may be long.
func Number(text string) string { return Shorten(text, maxShown) }

// Plain tells whether a key can stand in a path as it is: up to 60 ASCII letters, digits, "_", "/" and "-".
func Plain(key string) bool {
	return key != "" && len(key) <= maxShown && !strings.ContainsFunc(key, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_/-", r)
	})
}

// Path writes keys as spec.runtimes.a.env.HOME, quoting those that would be ambiguous.
func Path(keys []string) string {
	shown := make([]string, len(keys))
	for i, key := range keys {
		if shown[i] = key; !Plain(key) {
			shown[i] = Quote(key)
		}
	}
	return strings.Join(shown, ".")
}
