// Package problem has the type of the problems in a user's input. There is one problem per cause, with the position in the
// file to fix. The package does not find or print problems.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Position is a position in an input file. Line and Column start at 1; columns count characters. The zero value means that
// there is no position.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String returns file:line:column, which editors and terminals recognize.
func (p Position) String() string {
	return fmt.Sprintf("%s:%d:%d", printable(p.File), p.Line, p.Column)
}

// printable replaces the characters of a file name that break lines or control terminals.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}

// Rule is a type of problem. Programs can rely on its name, which does not change.
type Rule struct {
	Name string `json:"name,omitempty"` // such as unknown-key
	Doc  string `json:"doc,omitempty"`  // the problem or the requirement, in one sentence without a full stop
}

// Syntax is the rule for a text that cannot be read, in whole or in part.
var Syntax = Rule{"syntax", "A file contains valid YAML, JSON or CUE"}

// Problem is one problem of an input.
type Problem struct {
	Position
	// Rule is the type of the problem.
	Rule Rule `json:"rule,omitzero"`
	// Path is the path of the value in the document, such as spec.runtimes.a.image. It is empty for the whole file.
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

// List is all problems of an input. As an error, it lists what a user has to fix before trainyard can generate objects.
type List []Problem //nolint:errname // a list first, an error only when it is not empty

// Error returns one line per problem.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// WithRule returns a copy of the list in which the rule is set for each problem without a rule.
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
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return l
}
