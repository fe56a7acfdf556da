package document

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// indentationHint explains a ":" or a key that the parser did not expect. The cause of an unexpected ":" or key is
// often the indentation of the line, or a missing colon in the line above. If the error has a cause other than the
// indentation or a missing colon, indentationHint returns an empty hint.
func indentationHint(text []byte, at problem.Position, found string) (problem.Position, string) {
	lines := strings.Split(string(text), "\n")
	if at.Line > len(lines) {
		return at, ""
	}
	indent := indentOf(lines[at.Line-1])
	start := problem.Position{File: at.File, Line: at.Line, Column: indent + 1}
	last := lineBefore(lines, at.Line-1, found != ":")
	if last < 0 || found != ":" && at != start {
		return at, ""
	}
	switch before, indentBefore := lines[last], indentOf(lines[last]); {
	case found != ":" && indent < indentBefore:
		return at, misalignedKey(lines, at)
	case strings.TrimSpace(before)[0] == '#':
	case indent > indentBefore && strings.Contains(before, ": "):
		return start, fmt.Sprintf("the indentation makes this line a continuation of the value in line %d: indent all keys of a mapping equally", last+1)
	case indent >= indentBefore && !strings.Contains(before+" ", ": "):
		return problem.Position{File: at.File, Line: last + 1, Column: indentBefore + 1}, missingColon
	}
	return at, ""
}

// lineBefore returns the index of the nearest non-blank line above the given line. If there is no such line,
// lineBefore returns -1. If the argument "skipComments" is true, lineBefore also ignores lines with comments. In
// YAML, a text that continues over several lines ends at a comment line. If a caller looks for an earlier line of a
// text that continues over several lines, the caller must set "skipComments" to false.
func lineBefore(lines []string, index int, skipComments bool) int {
	for index--; index >= 0; index-- {
		if text := strings.TrimSpace(lines[index]); text != "" && (!skipComments || text[0] != '#') {
			return index
		}
	}
	return -1
}

// misalignedKey explains a key whose indentation is between two levels. A misaligned key is indented less than the
// mapping above it, but more than the parent of this mapping.
func misalignedKey(lines []string, at problem.Position) string {
	line, least := 0, 0
	for i := lineBefore(lines, at.Line-1, true); i >= 0; i = lineBefore(lines, i, true) {
		indent := indentOf(lines[i])
		if indent == at.Column-1 {
			return ""
		}
		if indent < at.Column-1 {
			break
		}
		if line == 0 || indent <= least {
			line, least = i+1, indent
		}
	}
	if line == 0 {
		return ""
	}
	return fmt.Sprintf("indent all keys of a mapping equally: indent this key by %d spaces, like the key in line %d, or move it to an outer mapping", least, line)
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// quotePattern matches a double or single quote, but not an apostrophe inside a word.
var quotePattern = regexp.MustCompile(`"|\B'|'\B`)

// quoteHint looks above an error for the nearest line with an odd number of quotes. In a line with an odd number of
// quotes, a closing quote may be missing. If a closing quote is missing, the parser reports the error only at the
// next quote, which can be many lines below.
func quoteHint(text []byte, at problem.Position) string {
	lines := strings.Split(string(text), "\n")
	for i := min(at.Line, len(lines)) - 1; i >= 0; i-- {
		line, _, _ := strings.Cut(" "+lines[i], " #")
		if len(quotePattern.FindAllString(line, -1))%2 == 1 {
			return fmt.Sprintf("; or is a quote not closed in line %d?", i+1)
		}
	}
	return ""
}
