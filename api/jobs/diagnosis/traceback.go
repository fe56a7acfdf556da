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

// exception is a regular expression for the last line of a traceback: the name of the exception, and its
// message if it has one.
var exception = regexp.MustCompile(`^[A-Za-z_][\w.]*(:|\s*$)`)

// frame is a regular expression for a traceback line that names a source file. In most cases, the next line of the
// traceback is source code. Only the end of a log is read, so the first line of a traceback can be missing. With this
// regular expression, the function codeLines finds the source code even if the first line is missing.
var frame = regexp.MustCompile(`File "[^"]+", line \d+, in `)

// endOfTraceback returns the index of the last line of a traceback, which names the exception. The first line of the
// traceback is lines[0]. Tools such as mpirun, torchrun and loggers can write a prefix, such as the number of the rank,
// before each line. The last line has the same prefix as lines[0], and the name of the exception follows the prefix.
// endOfTraceback reads the lines after lines[0] in order, and returns the index of the first line that has this form.
// Prefixes count as the same if they differ only in numbers (see cutPrefix). Lines with another prefix are skipped,
// because other ranks can have written them. endOfTraceback returns 0 if the end of the traceback is missing.
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

// cutPrefix removes a prefix from a line. The prefix of the line must have the same length and the
// same text as the argument "prefix". Only the numbers may be different, because prefixes can
// contain times. If the line does not begin with such a prefix, the result "found" is false.
func cutPrefix(line, prefix string) (rest string, found bool) {
	if len(line) < len(prefix) || digits.ReplaceAllString(line[:len(prefix)], "0") != digits.ReplaceAllString(prefix, "0") {
		return "", false
	}
	return line[len(prefix):], true
}

// ignored is a constant with the text that Python prints before a traceback if Python ignores the exception.
const ignored = "Exception ignored in"

// codeLines returns the indexes of the traceback lines that the function "search" must skip. The lines with source code
// and file names are skipped, because they can contain the same words as error messages. Python can ignore an
// exception, but still print the traceback of the exception. All lines of such a traceback are skipped.
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

// markTraceback marks lines of the traceback that begins in lines[start]. To mark lines[i], markTraceback sets code[i]
// to true. It marks the empty lines and the indented lines. The indented lines contain file names and source code. If
// Python ignores the exception, markTraceback marks all lines of the traceback.
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

// directCause is the line that Python prints between two tracebacks if the first exception caused the second exception.
const directCause = "The above exception was the direct cause of the following exception:"

// isConsequence reports whether a traceback is the consequence of the preceding exception in the log. The argument
// "before" contains the lines before the traceback.
func isConsequence(before []string) bool {
	const near = 3
	return slices.ContainsFunc(before[max(0, len(before)-near):], func(line string) bool { return strings.Contains(line, directCause) })
}
