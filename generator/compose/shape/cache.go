package shape

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/trainyard/trainyard/generator/internal/values"
)

// cache stores built shapes or components, and reuses them for inputs that differ only in parameters.
type cache[T any] struct{ groups []*group[T] }

// group contains the cached results whose parameters depend on the same input fields.
type group[T any] struct {
	sources    [][]string   // paths of the input fields from which parameters get their values
	dependents [][]string   // paths of the input fields that affect only parameters
	built      map[string]T // by cache key
}

func (c *cache[T]) find(input map[string]any) (built T, ok bool) {
	for _, g := range c.groups {
		if g.hasSources(input) {
			if built, ok = g.built[g.cacheKey(input)]; ok {
				return built, true
			}
		}
	}
	return built, false
}

func (c *cache[T]) add(input map[string]any, parameters []parameter, built T) {
	g := group[T]{built: map[string]T{}}
	for _, p := range parameters {
		g.sources = append(g.sources, p.source)
		if p.dependent != nil {
			g.dependents = append(g.dependents, p.dependent)
		}
	}
	g.sources, g.dependents = sortPaths(g.sources), sortPaths(g.dependents)
	at := slices.IndexFunc(c.groups, func(other *group[T]) bool {
		return slices.EqualFunc(other.sources, g.sources, slices.Equal) && slices.EqualFunc(other.dependents, g.dependents, slices.Equal)
	})
	if at < 0 {
		at = len(c.groups)
		c.groups = append(c.groups, &g)
	}
	c.groups[at].built[c.groups[at].cacheKey(input)] = built
}

func (g *group[T]) hasSources(input map[string]any) bool {
	for _, source := range g.sources {
		if _, ok := values.Lookup(input, source); !ok {
			return false
		}
	}
	return true
}

func sortPaths(paths [][]string) [][]string {
	return slices.CompactFunc(slices.SortedFunc(slices.Values(paths), slices.Compare), slices.Equal)
}

// cacheKey converts an input to JSON with sorted keys. The JSON does not contain the input fields that affect only
// parameters.
func (g *group[T]) cacheKey(input map[string]any) string {
	text, _ := json.Marshal(withoutPaths(input, slices.Concat(g.sources, g.dependents))) // plain data always marshals
	return string(text)
}

// withoutPaths returns a copy of a value without the parts at the given paths. In lists, null
// replaces a removed item.
func withoutPaths(node any, paths [][]string) any {
	below := map[string][][]string{}
	for _, path := range paths {
		below[path[0]] = append(below[path[0]], path[1:])
	}
	switch node := node.(type) {
	case map[string]any:
		rest := make(map[string]any, len(node))
		for key, value := range node {
			if value, ok := withoutBelow(value, below[key]); ok {
				rest[key] = value
			}
		}
		return rest
	case []any:
		rest := make([]any, len(node))
		for i, item := range node {
			rest[i], _ = withoutBelow(item, below[strconv.Itoa(i)])
		}
		return rest
	}
	return node
}

// withoutBelow returns a value without the parts at the given paths, which are relative to the value. If one
// of the paths is empty, the whole value is removed, and the result "ok" is false.
func withoutBelow(value any, paths [][]string) (rest any, ok bool) {
	if slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 }) {
		return nil, false
	}
	if len(paths) == 0 {
		return value, true
	}
	return withoutPaths(value, paths), true
}
