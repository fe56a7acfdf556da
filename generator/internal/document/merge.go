package document

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/problem"
)

// Merge applies an upper layer (over) to a lower layer (base) like a JSON merge patch (RFC 7396). Mappings are merged
// by key, a null removes a key, and other values are replaced. For named lists, Merge does not follow RFC 7396. In a
// named list, each item has a name (see isNamedList). If both layers have a named list for the same key, Merge merges
// every pair of items with the same name. Merge keeps all other items. Merge does not change its arguments. In the
// merged result, each value still has its position in the source text: the file, the line and the column. If a null in
// the upper layer removes nothing, Merge returns a note, because the key is probably misspelled or outdated.
func Merge(base, over *Node) (merged *Node, notes problem.List) {
	m := &merger{}
	return m.node(base, over), m.notes
}

type merger struct{ notes problem.List }

func (m *merger) node(base, over *Node) *Node {
	switch {
	case base.Kind == Mapping && over.Kind == Mapping && !over.replaces:
		return m.mapping(base, over)
	case isNamedList(base) && isNamedList(over) && !over.replaces:
		return mergeLists(base, over, m.mapping)
	case over.Kind == Mapping:
		return m.mapping(&Node{Position: over.Position, Kind: Mapping}, over)
	default:
		return over
	}
}

func (m *merger) mapping(base, over *Node) *Node {
	merged := &Node{Position: base.Position, Kind: Mapping, Incomplete: base.Incomplete || over.Incomplete, removed: maps.Clone(base.removed), idle: slices.Concat(base.idle, over.idle)}
	inBase, inOver := base.indexFields(), over.indexFields()
	for _, f := range base.Fields {
		switch change := inOver(f.Key); {
		case change == nil:
			merged.Fields = append(merged.Fields, f)
		case change.Value.Empty():
			merged.remove(change)
		default:
			merged.Fields = append(merged.Fields, mergeFields(f, *change, m.node))
		}
	}
	for _, f := range over.Fields {
		switch {
		case inBase(f.Key) != nil || f.Value.Empty() && f.Value.replaces:
		case f.Value.Empty():
			merged.idle = append(merged.idle, f)
			m.noteUnusedNull(f, base)
		default:
			f.Value = m.node(&Node{}, f.Value)
			merged.Fields = append(merged.Fields, f)
		}
	}
	return merged
}

// mergeFields merges two values of the same key: the value in the lower layer, and the value in the upper layer. The
// key has a position in each of the two layers. If both values are mappings, the result gets the position from the
// lower layer. Otherwise, the result gets the position from the upper layer.
func mergeFields(base, over Field, merge func(base, over *Node) *Node) Field {
	position := over.Position
	if base.Value.Kind == Mapping && over.Value.Kind == Mapping {
		position = base.Position
	}
	return Field{Position: position, Key: base.Key, Value: merge(base.Value, over.Value)}
}

// mergeLists merges two named lists (see isNamedList): it merges items with the same name, and appends the other items
// of the upper list.
func mergeLists(base, over *Node, merge func(base, over *Node) *Node) *Node {
	merged := &Node{Position: base.Position, Kind: List, replaces: base.replaces}
	added := map[any]*Node{}
	for _, item := range over.Items {
		added[item.Get("name").Scalar] = item
	}
	for _, item := range base.Items {
		name := item.Get("name").Scalar
		if change, ok := added[name]; ok {
			item = merge(item, change)
			delete(added, name)
		}
		merged.Items = append(merged.Items, item)
	}
	for _, item := range over.Items {
		if added[item.Get("name").Scalar] == item {
			merged.Items = append(merged.Items, item)
		}
	}
	return merged
}

// isNamedList reports whether a list is a named list, such as a list of containers. A named list has at least one item.
// Each item is a mapping with a scalar in its field "name", and no two items have the same name.
func isNamedList(list *Node) bool {
	if list.Kind != List {
		return false
	}
	seen := map[any]bool{}
	for _, item := range list.Items {
		name := item.Get("name")
		if name == nil || name.Kind != Scalar || name.Scalar == nil || seen[name.Scalar] {
			return false
		}
		seen[name.Scalar] = true
	}
	return len(list.Items) > 0
}

// Limits on suggestions. Without limits, comparing each key with all keys of a mapping would take minutes for
// large documents.
const (
	maxSuggestions = 100
	maxCandidates  = 256 // a mapping with more keys gets no suggestions; the schema allows at most 256 keys
)

func (m *merger) noteUnusedNull(f Field, base *Node) {
	text := fmt.Sprintf("%.60q: null removes nothing: the earlier layers have no such key", f.Key)
	if len(m.notes) < maxSuggestions && len(base.Fields) <= maxCandidates {
		var keys []string
		for _, candidate := range base.Fields {
			keys = append(keys, candidate.Key)
		}
		if nearest := message.Nearest(f.Key, keys); nearest != "" {
			text += fmt.Sprintf("; did you mean %q?", nearest)
		}
	}
	m.notes = append(m.notes, problem.Problem{Position: f.Position, Message: text})
}
