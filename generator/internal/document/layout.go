package document

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/trainyard/trainyard/generator/problem"
)

// continued explains a ":" or a key in a line that continues the value, or the key, of the
// line before, as far as YAML can tell: what is wrong is the indentation, or the line before.
func continued(text []byte, at problem.Position, found string) (problem.Position, string) {
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
	switch before, above := lines[last], indentOf(lines[last]); {
	case found != ":" && indent < above:
		return misaligned(lines, at)
	case strings.TrimSpace(before)[0] == '#':
	case indent > above && strings.Contains(before, ": "):
		return start, fmt.Sprintf("indented like a part of the value of line %d: indent the keys of a mapping alike", last+1)
	case indent >= above && !strings.Contains(before+" ", ": "):
		return problem.Position{File: at.File, Line: last + 1, Column: above + 1}, noColon
	}
	return at, ""
}

// lineBefore is the index of the last line before one that holds something, a comment being
// something or not: a comment ends a text that goes on over several lines.
func lineBefore(lines []string, index int, passComments bool) int {
	for index--; index >= 0; index-- {
		if text := strings.TrimSpace(lines[index]); text != "" && (!passComments || text[0] != '#') {
			return index
		}
	}
	return -1
}

// misaligned explains a line that is indented less than the mapping above it, and more than
// what that stands in.
func misaligned(lines []string, at problem.Position) (problem.Position, string) {
	indent := at.Column - 1
	begins, least := 0, 0
	for i := at.Line - 2; i >= 0; i-- {
		text := strings.TrimSpace(lines[i])
		if text == "" || text[0] == '#' {
			continue
		}
		above := indentOf(lines[i])
		if above == indent {
			return at, ""
		}
		if above < indent {
			break
		}
		if begins == 0 || above <= least {
			begins, least = i+1, above
		}
	}
	if begins == 0 {
		return at, ""
	}
	return at, fmt.Sprintf("indent the keys of a mapping alike: this one by %d, as those of line %d are, or less", least, begins)
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// loneQuote is a quote that does not stand inside of a word, as an apostrophe does.
var loneQuote = regexp.MustCompile(`"|\B'|'\B`)

// openQuote asks about the last line before a place that has one quote too many: a text
// that is not closed ends where the next one begins, which may be far below.
func openQuote(text []byte, at problem.Position) string {
	lines := strings.Split(string(text), "\n")
	for i := min(at.Line, len(lines)) - 1; i >= 0; i-- {
		line, _, _ := strings.Cut(" "+lines[i], " #")
		if len(loneQuote.FindAllString(line, -1))%2 == 1 {
			return fmt.Sprintf("; or is a quote not closed in line %d?", i+1)
		}
	}
	return ""
}

// lineBreaks refuses characters that end a line for some readers of YAML, and for others
// do not: they would see another document.
func lineBreaks(name string, text []byte) error {
	offset := bytes.IndexAny(text, "\u0085\u2028\u2029")
	if offset < 0 {
		return nil
	}
	r, _ := utf8.DecodeRune(text[offset:])
	line, column := new(cursor).advance(text, offset)
	return at(name, line, column, "not YAML: U+%04[1]X ends a line for some readers of YAML: write \"\\u%04[1]X\" in double quotes", r)
}
