package generator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// EnvironmentError is returned for an environment that the document does not have.
type EnvironmentError struct {
	Name  string
	Known []string // those that it has
}

// Error names the environment, and those that exist.
func (e *EnvironmentError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("environment %q: the document has no environments", e.Name)
	}
	return choice(fmt.Sprintf("unknown environment %q", e.Name), e.Name, e.Known)
}

// split makes one document of each environment wanted, ordered by name: the
// rest of the document with the environment laid over spec. A document without
// environments is its own only one.
func (s *source) split(wanted []string) ([]*work, error) {
	environments := s.document.Get("spec").Get("environments")
	if environments == nil || environments.Kind != document.Mapping || len(environments.Fields) == 0 {
		if len(wanted) > 0 {
			return nil, &EnvironmentError{Name: wanted[0]}
		}
		only := []*work{{source: s, document: s.document, problems: s.problems, notes: s.notes}}
		return only, s.bounded(only)
	}
	fields := slices.Clone(environments.Fields)
	slices.SortFunc(fields, func(a, b document.Field) int { return strings.Compare(a.Key, b.Key) })
	if err := known(wanted, fields); err != nil {
		return nil, err
	}
	bare := s.withoutPatches(environments)
	var works []*work
	for _, f := range fields {
		if len(wanted) == 0 || slices.Contains(wanted, f.Key) {
			works = append(works, s.environment(bare, f))
		}
	}
	return works, s.bounded(works)
}

// Bounds on the keys and values that are worked on: a person writes a few thousand,
// and CUE may take 40 kB for one. At the bound a document takes some four seconds and
// half a gigabyte, and all environments together ten seconds.
const (
	maxNodes    = 25_000 // of one environment, with the rest of spec
	maxAllNodes = 50_000 // of several, each with the rest of spec
)

// bounded holds each environment, and all together, to a bound: each is a document
// of its own, and a short text could ask for any number of large ones.
func (s *source) bounded(works []*work) error {
	all, largest := 0, 0
	for _, w := range works {
		nodes := w.document.Nodes()
		all, largest = all+nodes, max(largest, nodes)
	}
	switch {
	case largest > maxNodes:
		return s.tooMany([]string{"spec"}, "%d keys and values in one environment: want at most %d; make several documents of it", largest, maxNodes)
	case len(works) > 1 && all > maxAllNodes:
		return s.tooMany([]string{"spec", "environments"}, "%d environments, each with the rest of spec, are %d keys and values: want at most %d in all; make several documents of it", len(works), all, maxAllNodes)
	}
	return nil
}

func (s *source) tooMany(path []string, format string, args ...any) error {
	return append(slices.Clone(s.problems), problem.Problem{
		Position: s.document.Locate(path...), Rule: tooMany, Path: problem.Path(path), Message: fmt.Sprintf(format, args...),
	}).Err()
}

func known(wanted []string, fields []document.Field) error {
	var names []string
	for _, f := range fields {
		names = append(names, f.Key)
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return &EnvironmentError{Name: name, Known: names}
		}
	}
	return nil
}

// withoutPatches is the document with empty environments: their names are
// checked with it, what they hold is checked where it lands.
func (s *source) withoutPatches(environments *document.Node) *document.Node {
	empty := environments
	for _, f := range environments.Fields {
		if f.Value.Kind == document.Mapping {
			empty = empty.With(f.Key, &document.Node{Position: f.Value.Position, Kind: document.Mapping})
		}
	}
	return s.document.With("spec", s.document.Get("spec").With("environments", empty))
}

// environment lays one environment over the document.
func (s *source) environment(bare *document.Node, f document.Field) *work {
	w := &work{source: s, environment: f.Key, document: bare, problems: slices.Clone(s.problems), notes: slices.Clone(s.notes)}
	if f.Value.Kind != document.Mapping {
		return w
	}
	patch := f.Value
	if inner := patch.Get("environments"); inner != nil {
		w.problems = append(w.problems, problem.Problem{
			Position: inner.Position,
			Rule:     unknownKey,
			Path:     problem.Path([]string{"spec", "environments", f.Key, "environments"}),
			Message:  "an environment cannot hold environments",
		})
		patch = patch.Without("environments")
	}
	over := &document.Node{Kind: document.Mapping, Fields: []document.Field{{Key: "spec", Position: f.Position, Value: patch}}}
	merged, notes := document.Merge(bare, over)
	w.document, w.notes = merged, append(w.notes, notes.By(idleNull)...)
	return w
}

// findings are the problems of all environments, each once.
type findings struct {
	order []problem.Problem
	where map[problem.Problem][]string
}

// add keeps the problems of an environment; an error of another kind is returned.
func (f *findings) add(environment string, err error) error {
	var problems problem.List
	if err == nil || !errors.As(err, &problems) {
		return err
	}
	if f.where == nil {
		f.where = map[problem.Problem][]string{}
	}
	for _, p := range problems {
		if _, ok := f.where[p]; !ok {
			f.order = append(f.order, p)
		}
		if !slices.Contains(f.where[p], environment) {
			f.where[p] = append(f.where[p], environment)
		}
	}
	return nil
}

// list says of a problem in which environments it is one, unless it is one in all.
func (f *findings) list(environments int) problem.List {
	var all problem.List
	seen := map[problem.Problem]bool{}
	for _, p := range f.order {
		// What an alias repeats is one mistake, at one place.
		cause := problem.Problem{Position: p.Position, Message: p.Message}
		if seen[cause] {
			continue
		}
		seen[cause] = true
		if in := f.where[p]; len(in) < environments {
			p.Message += " (in environment " + strings.Join(in, ", ") + ")"
		}
		all = append(all, p)
	}
	return all
}
