package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
)

// Document is the document of one environment.
type Document struct {
	Environment string         // empty if the document has no environments
	Root        *document.Node // the document, with the environment's patch applied to spec
	Problems    problem.List   // problems in the text and in the environment
	Notes       problem.List   // notes about layers and the environment
}

// EnvironmentError reports that a requested environment is missing from the document.
type EnvironmentError struct {
	Name  string
	Known []string // the environments of the document
}

// Error returns a message with the name of the missing environment. If the document has environments, the message also
// suggests similar environments, or lists all environments.
func (e *EnvironmentError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("environment %q: the document has no environments", e.Name)
	}
	return wording.Choice(fmt.Sprintf("unknown environment %q", e.Name), e.Name, e.Known)
}

// Environments returns one document for each wanted environment, ordered by name. If the argument "wanted" is empty,
// all environments are wanted. If "wanted" is empty and the document has no environments, Environments returns only the
// document itself. If the document lacks a wanted environment, the error is an *EnvironmentError.
func (s *Source) Environments(wanted []string) ([]*Document, error) {
	environments := s.root.Get("spec").Get("environments")
	if environments == nil || environments.Kind != document.Mapping || len(environments.Fields) == 0 {
		if len(wanted) > 0 {
			return nil, &EnvironmentError{Name: wanted[0]}
		}
		only := []*Document{{Root: s.root, Problems: s.problems, Notes: s.notes}}
		return only, s.checkSize(only)
	}
	fields := slices.Clone(environments.Fields)
	slices.SortFunc(fields, func(a, b document.Field) int { return strings.Compare(a.Key, b.Key) })
	if err := checkKnown(wanted, fields); err != nil {
		return nil, err
	}
	unpatched := withoutPatches(s.root)
	var documents []*Document
	for _, f := range fields {
		if len(wanted) == 0 || slices.Contains(wanted, f.Key) {
			documents = append(documents, s.environment(unpatched, f))
		}
	}
	return documents, s.checkSize(documents)
}

// Limits on the number of keys and values in documents. Documents that people write have at most a few thousand keys
// and values. CUE can need 40 kB of memory for each key or value. An environment with 25,000 keys and values (maxNodes)
// takes about four seconds and half a gigabyte of memory. If all environments together have 50,000 keys and values
// (maxAllNodes), they take about ten seconds.
const (
	maxNodes    = 25_000 // in the document of one environment
	maxAllNodes = 50_000 // in the documents of all environments together
)

// checkSize limits the sizes of environments. Each environment contains a copy of spec, so a short text can define many
// large environments.
func (s *Source) checkSize(documents []*Document) error {
	all, largest := 0, 0
	for _, d := range documents {
		nodes := d.Root.Nodes()
		all, largest = all+nodes, max(largest, nodes)
	}
	switch {
	case largest > maxNodes:
		return s.tooMany([]string{"spec"}, "%d keys and values in one environment: want at most %d; split the document", largest, maxNodes)
	case len(documents) > 1 && all > maxAllNodes:
		return s.tooMany([]string{"spec", "environments"}, "the %d environments, each with a copy of the rest of spec, have %d keys and values in total: want at most %d; split the document", len(documents), all, maxAllNodes)
	}
	return nil
}

func (s *Source) tooMany(path []string, format string, args ...any) error {
	return append(slices.Clone(s.problems), problem.Problem{
		Position: s.root.Locate(path...), Rule: problem.TooMany, Path: problem.Path(path), Message: fmt.Sprintf(format, args...),
	}).Err()
}

func checkKnown(wanted []string, fields []document.Field) error {
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

// withoutPatches copies a document or layer, empties all environments in the copy, and returns the copy. An environment
// is a patch of spec. Several layers can contain patches for the same environment. The function Merge must not combine
// such patches, because its result would lack the nulls of the later patch. But these nulls can still be needed to
// remove keys of spec. Therefore the function composePatches combines the patches. The check stage checks a patch only
// after the patch is merged into spec.
func withoutPatches(root *document.Node) *document.Node {
	spec := root.Get("spec")
	environments := spec.Get("environments")
	if environments == nil {
		return root
	}
	empty := environments
	for _, f := range environments.Fields {
		if f.Value.Kind == document.Mapping {
			empty = empty.With(f.Key, &document.Node{Position: f.Value.Position, Kind: document.Mapping})
		}
	}
	return root.With("spec", spec.With("environments", empty))
}

// composePatches combines the patches of a layer's environments with the patches of the earlier layers, and puts the results
// into the merged document. A combined patch keeps its nulls, because a null can remove a key of spec. The method
// Environments later merges the combined patches into spec.
func composePatches(merged, earlier, layer *document.Node) *document.Node {
	path := []string{"spec", "environments"}
	before, environments := getPath(earlier, path), getPath(layer, path)
	for _, f := range fieldsOf(environments) {
		if f.Value.Kind != document.Mapping {
			continue
		}
		patch := f.Value
		if first := before.Get(f.Key); first != nil && first.Kind == document.Mapping {
			patch = document.Compose(first, patch)
		}
		merged = replaceAt(merged, values.Extend(path, f.Key), patch)
	}
	return merged
}

func (s *Source) environment(unpatched *document.Node, f document.Field) *Document {
	d := &Document{Environment: f.Key, Root: unpatched, Problems: slices.Clone(s.problems), Notes: slices.Clone(s.notes)}
	if f.Value.Kind != document.Mapping {
		return d
	}
	patch := f.Value
	if inner := patch.Get("environments"); inner != nil {
		d.Problems = append(d.Problems, problem.Problem{
			Position: inner.Position,
			Rule:     problem.UnknownKey,
			Path:     problem.Path([]string{"spec", "environments", f.Key, "environments"}),
			Message:  "an environment cannot contain environments",
		})
		patch = patch.Without("environments")
	}
	patch = s.checkAdditions(d, patch)
	layer := &document.Node{Kind: document.Mapping, Fields: []document.Field{{Key: "spec", Position: f.Position, Value: patch}}}
	merged, notes := document.Merge(unpatched, layer)
	d.Root, d.Notes = merged, append(d.Notes, notes.WithRule(problem.IdleNull)...)
	return d
}

// Sections returns the sorted names of the runtimes and tenants of the document, such as runtime/mpi and tenant/team-a.
func (d *Document) Sections() []string {
	var names []string
	for kind, field := range map[string]string{"runtime": "runtimes", "tenant": "tenants"} {
		mapping := d.Root.Get("spec").Get(field)
		if mapping == nil {
			continue
		}
		for _, f := range mapping.Fields {
			names = append(names, kind+"/"+f.Key)
		}
	}
	slices.Sort(names)
	return names
}
