package document

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trainyard/trainyard/generator/problem"
)

// Merge lays one document over another: mappings merge key by key, null removes
// a key, lists of named mappings merge by name, and anything else is replaced
// (as RFC 7396 has it, but for the named lists). Neither is changed; every value
// keeps the place where it was written.
//
// A null that removes nothing is worth a note: it is a typing error, or has
// outlived what it removed.
func Merge(base, over *Node) (merged *Node, notes problem.List) {
	m := &merger{}
	return m.node(base, over), m.notes
}

type merger struct{ notes problem.List }

func (m *merger) node(base, over *Node) *Node {
	switch {
	case base.Kind == Mapping && over.Kind == Mapping:
		return m.mapping(base, over)
	case base.Kind == List && over.Kind == List && named(base) && named(over):
		return m.list(base, over)
	case over.Kind == Mapping:
		return m.mapping(&Node{Position: over.Position, Kind: Mapping}, over)
	default:
		return over
	}
}

func (m *merger) mapping(base, over *Node) *Node {
	merged := &Node{Position: base.Position, Kind: Mapping, Partly: base.Partly || over.Partly, removed: maps.Clone(base.removed)}
	inBase, inOver := base.index(), over.index()
	for _, f := range base.Fields {
		switch above := inOver(f.Key); {
		case above == nil:
			merged.Fields = append(merged.Fields, f)
		case above.Value.Empty(): // null takes away what a lower layer says
			if merged.removed == nil {
				merged.removed = map[string]problem.Position{}
			}
			merged.removed[f.Key] = above.Position
		default:
			merged.Fields = append(merged.Fields, m.field(f, *above))
		}
	}
	for _, f := range over.Fields {
		if inBase(f.Key) != nil {
			continue
		}
		if f.Value.Empty() {
			m.add(f, base)
			continue
		}
		f.Value = m.node(&Node{}, f.Value)
		merged.Fields = append(merged.Fields, f)
	}
	return merged
}

// field merges the values of a key that both have. Where both are mappings, the
// lower one says where the key stands.
func (m *merger) field(base, over Field) Field {
	position := over.Position
	if base.Value.Kind == Mapping && over.Value.Kind == Mapping {
		position = base.Position
	}
	return Field{Position: position, Key: base.Key, Value: m.node(base.Value, over.Value)}
}

func (m *merger) list(base, over *Node) *Node {
	merged := &Node{Position: base.Position, Kind: List}
	above := map[any]*Node{}
	for _, item := range over.Items {
		above[item.Get("name").Scalar] = item
	}
	for _, item := range base.Items {
		name := item.Get("name").Scalar
		if other, ok := above[name]; ok {
			item = m.mapping(item, other)
			delete(above, name)
		}
		merged.Items = append(merged.Items, item)
	}
	for _, item := range over.Items {
		if above[item.Get("name").Scalar] == item {
			merged.Items = append(merged.Items, item)
		}
	}
	return merged
}

// named tells a list whose items are mappings with a name each, such as
// containers, from one that means something as a whole.
func named(list *Node) bool {
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

func keys(n *Node) []string {
	var found []string
	for _, f := range n.Fields {
		found = append(found, f.Key)
	}
	return found
}

// Suggestions are for what a person reads. Each compares a key with all of a mapping, so
// large documents would take minutes.
const (
	maxSuggestions = 100
	maxSuggested   = 256 // keys of a mapping, of which the schema allows no more
)

// add notes that a null takes nothing away from what is below it.
func (m *merger) add(f Field, base *Node) {
	message := fmt.Sprintf("%.60q: null removes nothing: the layers below have no such key", f.Key)
	if len(m.notes) < maxSuggestions && len(base.Fields) <= maxSuggested {
		if meant := problem.Nearest(f.Key, keys(base)); meant != "" {
			message += fmt.Sprintf("; did you mean %q?", meant)
		}
	}
	m.notes = append(m.notes, problem.Problem{Position: f.Position, Message: message})
}

// Without returns a copy of a mapping that lacks one of its keys.
func (n *Node) Without(key string) *Node {
	changed := *n
	changed.Fields = slices.DeleteFunc(slices.Clone(n.Fields), func(f Field) bool { return f.Key == key })
	return &changed
}

// With returns a copy of a mapping with the value of one of its keys replaced.
func (n *Node) With(key string, value *Node) *Node {
	changed := *n
	changed.Fields = make([]Field, len(n.Fields))
	for i, f := range n.Fields {
		if f.Key == key {
			f.Value = value
		}
		changed.Fields[i] = f
	}
	return &changed
}

// Renamed returns a copy of a mapping in which the field at an index has another key.
func (n *Node) Renamed(at int, key string) *Node {
	changed := *n
	changed.Fields = slices.Clone(n.Fields)
	changed.Fields[at].Key = key
	return &changed
}
