package document

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// indentationHint explains two kinds of syntax errors. In the first kind, the parser found a ":" that is not allowed.
// In the second kind, the parser did not find an expected key. The cause is often the indentation of the line with the
// error, or a missing colon in the line above. If indentationHint finds neither of these causes, it returns an empty
// hint.
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

// lineBefore returns the index of the nearest non-blank line above the line with the given index, or -1 if there is no
// such line. If the argument "skipComments" is true, lineBefore also ignores comment lines. In YAML, a comment line
// ends a multi-line text. Therefore a caller that looks for the previous line of a multi-line text must set
// "skipComments" to false.
func lineBefore(lines []string, index int, skipComments bool) int {
	for index--; index >= 0; index-- {
		if text := strings.TrimSpace(lines[index]); text != "" && (!skipComments || text[0] != '#') {
			return index
		}
	}
	return -1
}

// misalignedKey returns a hint for a key that is indented less than the line above, and is not aligned with any outer
// mapping. For example, an outer mapping is indented by 2 spaces, its inner mapping by 4 spaces, and the key by 3
// spaces. For any other key, misalignedKey returns "".
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
	return fmt.Sprintf("indent all keys of a mapping equally: write %d spaces before this key, as in line %d, or move the key to an outer mapping", least, line)
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// quotePattern matches a double or single quote, but not an apostrophe inside a word.
var quotePattern = regexp.MustCompile(`"|\B'|'\B`)

// quoteHint returns a hint that names a line in which a closing quote may be missing. This line is the nearest line
// with an odd number of quotes, at or above the line of the error. The parser reports a missing quote only at the next
// quote, which can be many lines below.
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
