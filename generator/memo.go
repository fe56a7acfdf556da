package generator

import (
	"encoding/json"
	"slices"
	"strconv"
)

// memo finds what has been made of an input that differs in nothing that matters.
type memo[T any] struct{ groups []*group[T] }

// group is what was made of inputs that differ in the same places without it mattering.
type group[T any] struct {
	sources [][]string   // where leaves come from: paths in the input
	shown   [][]string   // paths of what nothing but such leaves depends on
	made    map[string]T // by what is left of the input without the two
}

// find returns what was kept for an input, or for another that only differs where it does not matter.
func (m *memo[T]) find(in map[string]any) (made T, ok bool) {
	for _, g := range m.groups {
		if g.concerns(in) {
			if made, ok = g.made[g.residue(in)]; ok {
				return made, true
			}
		}
	}
	return made, false
}

// keep remembers what was made of an input, with where its leaves come from, and what is shown nowhere else.
func (m *memo[T]) keep(in map[string]any, sources, shown [][]string, made T) {
	sources, shown = distinct(sources), distinct(shown)
	at := slices.IndexFunc(m.groups, func(g *group[T]) bool {
		return slices.EqualFunc(g.sources, sources, slices.Equal) && slices.EqualFunc(g.shown, shown, slices.Equal)
	})
	if at < 0 {
		at = len(m.groups)
		m.groups = append(m.groups, &group[T]{sources, shown, map[string]T{}})
	}
	m.groups[at].made[m.groups[at].residue(in)] = made
}

// concerns reports whether an input has all that leaves come from.
func (g *group[T]) concerns(in map[string]any) bool {
	for _, source := range g.sources {
		if _, ok := lookup(in, source); !ok {
			return false
		}
	}
	return true
}

// distinct orders paths, each once.
func distinct(paths [][]string) [][]string {
	return slices.CompactFunc(slices.SortedFunc(slices.Values(paths), slices.Compare), slices.Equal)
}

// residue is what of an input decides on the shape, as canonical JSON.
func (g *group[T]) residue(in map[string]any) string {
	text, _ := json.Marshal(without(in, slices.Concat(g.sources, g.shown))) // plain data always marshals
	return string(text)
}

// without copies as much of an input as it takes to leave out some paths. Items of lists
// leave a gap.
func without(node any, sources [][]string) any {
	below := map[string][][]string{}
	for _, source := range sources {
		below[source[0]] = append(below[source[0]], source[1:])
	}
	switch node := node.(type) {
	case map[string]any:
		left := make(map[string]any, len(node))
		for key, value := range node {
			if value, stays := reduced(value, below[key]); stays {
				left[key] = value
			}
		}
		return left
	case []any:
		left := make([]any, len(node))
		for i, item := range node {
			left[i], _ = reduced(item, below[strconv.Itoa(i)])
		}
		return left
	}
	return node
}

// reduced is what is left of a value without what lies at some paths below it, if
// it is not itself among them.
func reduced(value any, sources [][]string) (left any, stays bool) {
	if slices.ContainsFunc(sources, func(source []string) bool { return len(source) == 0 }) {
		return nil, false
	}
	if len(sources) == 0 {
		return value, true
	}
	return without(value, sources), true
}

// lookup follows a path through an input.
func lookup(in map[string]any, path []string) (any, bool) {
	var node any = in
	for _, key := range path {
		value, ok := child(node, key)
		if !ok {
			return nil, false
		}
		node = value
	}
	return node, true
}

// child is a field of a mapping, or an item of a list.
func child(node any, key string) (any, bool) {
	switch node := node.(type) {
	case map[string]any:
		value, ok := node[key]
		return value, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(node) {
			return nil, false
		}
		return node[i], true
	}
	return nil, false
}
