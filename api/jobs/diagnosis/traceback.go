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

// exception matches the last line of a traceback: the name of the exception, and its message if it has one.
var exception = regexp.MustCompile(`^[A-Za-z_][\w.]*(:|\s*$)`)

// frame matches a line of a traceback that names a file. The next line of the log is source code, also if the log does not contain the
// beginning of the traceback.
var frame = regexp.MustCompile(`File "[^"]+", line \d+, in `)

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
		if same && exception.MatchString(rest) && !strings.Contains(rest, tracebackStart) {
			return i + 1
		}
	}
	return 0
}

// isIncomplete reports whether lines[0] begins a traceback whose end is missing.
func isIncomplete(lines []string) bool {
	return strings.Contains(lines[0], tracebackStart) && endOfTraceback(lines) == 0
}

// cutPrefix removes a prefix from a line. Numbers in the prefix, such as times, may differ.
func cutPrefix(line, prefix string) (rest string, found bool) {
	if len(line) < len(prefix) || digits.ReplaceAllString(line[:len(prefix)], "0") != digits.ReplaceAllString(prefix, "0") {
		return "", false
	}
	return line[len(prefix):], true
}

// ignored is the line that Python prints before the traceback of an exception that has no effect.
const ignored = "Exception ignored in"

// codeLines returns the indexes of the lines that must not be searched: lines of source code in Python tracebacks, because they can contain
// the same words as error messages, and whole tracebacks of exceptions that Python ignores.
func codeLines(lines []string) map[int]bool {
	code := map[int]bool{}
	for i, line := range lines {
		if at := frame.FindStringIndex(line); at != nil && i+1 < len(lines) && isIndented(lines[i+1], at[0]) {
			code[i+1] = true
		}
		if strings.Contains(line, tracebackStart) {
			markTraceback(code, lines, i)
		}
	}
	return code
}

// markTraceback adds to "code" the indexes of the source code in the traceback that begins in lines[start]. If Python ignores the
// exception, it adds the indexes of the whole traceback.
func markTraceback(code map[int]bool, lines []string, start int) {
	prefix, _, _ := strings.Cut(lines[start], tracebackStart)
	isIgnored := start > 0 && strings.Contains(lines[start-1], ignored)
	code[start] = isIgnored
	for i := start + 1; i < min(len(lines), start+maxTraceback); i++ {
		rest, same := cutPrefix(lines[i], prefix)
		isCode := rest == "" || rest[0] == ' ' || rest[0] == '\t'
		if same {
			code[i] = isCode || isIgnored
		}
		if same && !isCode {
			return
		}
	}
}

// isIndented reports whether line[index] exists and is a space.
func isIndented(line string, index int) bool { return index < len(line) && line[index] == ' ' }

// directCause is the line that Python prints between the tracebacks of an exception and of the exception that it caused.
const directCause = "The above exception was the direct cause of the following exception:"

// isConsequence reports whether the exception of a traceback is the consequence of the exception before it. The argument contains
// the lines before the traceback.
func isConsequence(before []string) bool {
	const near = 3
	return slices.ContainsFunc(before[max(0, len(before)-near):], func(line string) bool { return strings.Contains(line, directCause) })
}
