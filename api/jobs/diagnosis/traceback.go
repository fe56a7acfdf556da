package diagnosis

import (
	"regexp"
	"strings"
)

const (
	// tracebackStart is the first line of a traceback of Python.
	tracebackStart = "Traceback (most recent call last):"
	// maxTraceback is the maximum number of lines of a traceback.
	maxTraceback = 200
)

var digits = regexp.MustCompile(`\d+`)

// endOfTraceback returns the index of the last line of a traceback, which names the exception. lines[0] is the first line of
// the traceback. mpirun, torchrun and loggers write a prefix before each line, such as the number of the rank, and lines of
// other ranks can be in between. The result is 0 if the end is missing.
func endOfTraceback(lines []string) int {
	prefix, _, found := strings.Cut(lines[0], tracebackStart)
	if !found {
		return 0
	}
	for i, line := range lines[1:min(len(lines), maxTraceback)] {
		rest, same := cutPrefix(line, prefix)
		if same && rest != "" && !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
			return i + 1
		}
	}
	return 0
}

// cutPrefix removes a prefix from a line. Numbers in the prefix, such as times, may differ.
func cutPrefix(line, prefix string) (rest string, found bool) {
	if len(line) < len(prefix) || digits.ReplaceAllString(line[:len(prefix)], "0") != digits.ReplaceAllString(prefix, "0") {
		return "", false
	}
	return line[len(prefix):], true
}
