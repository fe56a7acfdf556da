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

// Problem is one mistake.
type Problem struct {
	Position
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
