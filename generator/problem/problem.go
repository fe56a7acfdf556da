// Package problem holds what is wrong with a person's input: one problem per
// cause, each with the place in the file where it can be mended. It knows
// nothing of how problems are found or printed.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Position is a place in an input file. Line and Column count from 1, columns
// in characters. The zero value means "no place".
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String gives file:line:column, as editors and terminals understand it.
func (p Position) String() string {
	return fmt.Sprintf("%s:%d:%d", printable(p.File), p.Line, p.Column)
}

// printable keeps a file's name from breaking a line or steering a terminal.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}

// Rule is a kind of mistake. Its name is for machines, and stays the same for as long as the kind exists.
type Rule struct {
	Name string `json:"name,omitempty"` // such as unknown-key
	Doc  string `json:"doc,omitempty"`  // what the mistake is, or what the rule demands, in one sentence without a full stop
}

// Syntax is the rule that a text breaks which cannot be read, or not all of it.
var Syntax = Rule{"syntax", "A file is the text of a document, in YAML, JSON or CUE"}

// Problem is one mistake.
type Problem struct {
	Position
	// Rule is the kind of mistake.
	Rule Rule `json:"rule,omitzero"`
	// Path is where the value lies in the document, such as spec.runtimes.a.image; empty for the whole file.
	Path string `json:"path,omitempty"`
	// Message says what is wrong and what is allowed, in one line without a full stop.
	Message string `json:"message"`
}

// String gives the problem as one line.
func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("%s: %s", p.Position, p.Message)
	}
	return fmt.Sprintf("%s: %s: %s", p.Position, p.Path, p.Message)
}

// List is every problem of an input. As an error, it is what a person must mend
// before anything can be generated.
type List []Problem //nolint:errname // a list first, an error only when it is not empty

// Error gives one line per problem.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// By returns the list with a rule for each problem that has none.
func (l List) By(rule Rule) List {
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
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return l
}
