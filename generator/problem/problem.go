// Package problem defines the type of the problems in a user's input. Each mistake is reported as one problem, at the
// position that the user must fix. Other packages find the problems and print them.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Position is a line and a column in an input file. Line and Column start at 1, and Column counts characters. The zero
// value means that the position is unknown.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String returns file:line:column, which editors and terminals recognize.
func (p Position) String() string {
	return fmt.Sprintf("%s:%d:%d", makePrintable(p.File), p.Line, p.Column)
}

// Compare orders positions by file, line and column.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.File, other.File), cmp.Compare(p.Line, other.Line), cmp.Compare(p.Column, other.Column))
}

// makePrintable replaces each unprintable character of a file name by a question mark. For example, an unprintable
// character can begin a new line, or send a command to the terminal.
func makePrintable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}

// Rule identifies a type of problem. The names of rules do not change, so programs can rely on them.
type Rule struct {
	Name string `json:"name,omitempty"` // such as unknown-key
	Doc  string `json:"doc,omitempty"`  // the requirement; for notes, the effect of the input. No full stop
}

// Syntax is the rule that a file must contain valid YAML, JSON or CUE.
var Syntax = Rule{"syntax", "A file contains valid YAML, JSON or CUE"}

// Problem is one mistake in an input, or a note about the input.
type Problem struct {
	Position
	// Rule identifies the type of the problem, such as Syntax.
	Rule Rule `json:"rule,omitzero"`
	// Path is the path of the value in the document, such as spec.runtimes.a.image. If the problem concerns the whole
	// file, Path is empty.
	Path string `json:"path,omitempty"`
	// Message describes the problem and what is allowed, in one line without a full stop.
	Message string `json:"message"`
}

// String returns the problem in one line.
func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("%s: %s", p.Position, p.Message)
	}
	return fmt.Sprintf("%s: %s: %s", p.Position, p.Path, p.Message)
}

// List holds all problems of an input. If a function returns a List as an error, the user must fix the problems in
// the List before trainyard can generate objects.
type List []Problem //nolint:errname // the type is mainly a list of problems; an empty list is not an error

// Error returns one line per problem.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// WithRule returns a copy of the list in which each problem without a rule gets the given rule.
func (l List) WithRule(rule Rule) List {
	all := slices.Clone(l)
	for i := range all {
		if all[i].Rule == (Rule{}) {
			all[i].Rule = rule
		}
	}
	return all
}

// Err returns the list sorted by position, or nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(a.Compare(b.Position), cmp.Compare(a.Message, b.Message))
	})
	return l
}
