package diagnosis

import (
	"regexp"
	"slices"
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

// codeLines returns the indexes of all lines of source code in Python tracebacks. These lines must not be searched, because source
// code can contain the same words as error messages.
func codeLines(lines []string) map[int]bool {
	code := map[int]bool{}
	for i, line := range lines {
		prefix, _, found := strings.Cut(line, tracebackStart)
		for j := i + 1; found && j < min(len(lines), i+maxTraceback); j++ {
			rest, same := cutPrefix(lines[j], prefix)
			isCode := rest == "" || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\t")
			if same && !isCode {
				break
			}
			if same {
				code[j] = true
			}
		}
	}
	return code
}

// directCause is the line that Python prints between the tracebacks of an exception and of the exception that it caused.
const directCause = "The above exception was the direct cause of the following exception:"

// isConsequence reports whether the exception of a traceback is the consequence of the exception before it. The argument contains
// the lines before the traceback.
func isConsequence(before []string) bool {
	const near = 3
	return slices.ContainsFunc(before[max(0, len(before)-near):], func(line string) bool { return strings.Contains(line, directCause) })
}
