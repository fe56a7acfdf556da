package generator

import (
	"context"
	"slices"
	"strconv"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// Value is one value of a document, and the place of the layer that says it.
type Value struct {
	Path     string           `json:"path"`  // such as spec.runtimes.a.image
	Keys     []string         `json:"-"`     // the same, key by key, with items as 0
	Value    any              `json:"value"` // string, bool, int64, float64; an empty map or list
	Position problem.Position `json:"position"`
}

// Source is the document of one environment, as its layers make it.
type Source struct {
	Environment string  `json:"environment,omitempty"` // empty where the document has no environments
	Values      []Value `json:"values"`
}

// Sources says where each value of a document comes from, whether or not the
// document is right. Defaults come from no document, and are not among them.
func (p *Pipeline) Sources(ctx context.Context, request Request) ([]Source, error) {
	s, err := p.load(ctx, request)
	if err != nil {
		return nil, err
	}
	works, err := s.split(request.Environments)
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, w := range works {
		// What other environments change is no part of this one's document.
		values := slices.DeleteFunc(valuesOf(w.document, nil), func(v Value) bool {
			return len(v.Keys) > 1 && v.Keys[0] == "spec" && v.Keys[1] == "environments"
		})
		sources = append(sources, Source{w.environment, values})
	}
	return sources, nil
}

// valuesOf walks a document in its own order.
func valuesOf(n *document.Node, path []string) []Value {
	var found []Value
	switch {
	case n.Kind == document.Mapping && len(n.Fields) > 0:
		for _, f := range n.Fields {
			found = append(found, valuesOf(f.Value, extend(path, f.Key))...)
		}
		return found
	case n.Kind == document.List && len(n.Items) > 0:
		for i, item := range n.Items {
			found = append(found, valuesOf(item, extend(path, strconv.Itoa(i)))...)
		}
		return found
	case n.Kind == document.Mapping:
		return []Value{{problem.Path(path), path, map[string]any{}, n.Position}}
	case n.Kind == document.List:
		return []Value{{problem.Path(path), path, []any{}, n.Position}}
	}
	return []Value{{problem.Path(path), path, n.Scalar, n.Position}}
}

// Catalogue lists the runtimes that a document can start from, ordered by name.
func (p *Pipeline) Catalogue() ([]string, error) {
	e, err := newEngine(p.definitions)
	if err != nil {
		return nil, err
	}
	var names []string
	if err := e.definitions.LookupPath(cue.ParsePath("bases")).Decode(&names); err != nil {
		return nil, bug("reading the catalogue", err)
	}
	slices.Sort(names)
	return names, nil
}
