package document

import (
	"maps"
	"slices"
	"strconv"

	"github.com/trainyard/trainyard/generator/problem"
)

// Node is a value of a document. Only one of Fields, Items and Scalar is set, depending on the Kind.
type Node struct {
	problem.Position
	Kind       Kind
	Fields     []Field // the keys of a Mapping, in the order of the text
	Items      []*Node // the items of a List
	Scalar     any     // the value of a Scalar: string, int64, uint64, float64, bool or nil
	Text       string  // the source text of a Scalar that is not a string
	Unreadable bool    // whether the value is unreadable; the error has been reported
	Incomplete bool    // whether a key of a Mapping is unreadable; the error has been reported

	removed map[string]problem.Position // keys that a null in a later layer removed, and the positions of the nulls
	idle    []Field                     // nulls of later layers that removed nothing

	// The field "replaces" is a flag that Compose sets when Compose makes a new patch from two patches. If a value of
	// the second patch replaces a value of the first patch, the new patch contains only the second value. In the new
	// patch, Compose sets the flag "replaces" of this value to true. If both values are null, a different rule applies,
	// because the second null has no effect. In this case, the null in the new patch has the flag only if the first
	// null has the flag. Later, Merge applies the new patch to another value, the base. If a mapping or list in the new
	// patch has the flag, this mapping or list replaces the matching value in the base. Merge does not merge these two
	// values. The reason is that the new patch must have the same effect as the two patches one after the other.
	// Suppose that Merge applies the two patches one after the other. The first patch changes or removes the value in
	// the base. The second patch then sets a completely new value, so nothing from the value in the base remains. A
	// null with the flag removes a value that an earlier patch sets. Such a null is useful even if the base does not
	// contain the key of the removed value. Therefore Merge reports no note about such a null.
	replaces bool
}

// Field is a pair of a key and a value in a mapping.
type Field struct {
	problem.Position // of the key
	Key              string
	Value            *Node
}

// Kind is the type of a node, which is Scalar, Mapping or List.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	Mapping
	List
)

// Empty reports whether a node is null or missing. For an unreadable value, Empty returns false.
func (n *Node) Empty() bool {
	return n == nil || n.Kind == Scalar && n.Scalar == nil && !n.Unreadable
}

// Plain converts a node to the types of decoded JSON.
func (n *Node) Plain() any {
	switch n.Kind {
	case Mapping:
		fields := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			fields[f.Key] = f.Value.Plain()
		}
		return fields
	case List:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.Plain()
		}
		return items
	}
	return n.Scalar
}

// Nodes counts the keys and values of a node, including the node itself.
func (n *Node) Nodes() int {
	nodes := 1
	for _, f := range n.Fields {
		nodes += 1 + f.Value.Nodes()
	}
	for _, item := range n.Items {
		nodes += item.Nodes()
	}
	return nodes
}

// AsString returns the value of a scalar that is a string, and "" for any other node.
func (n *Node) AsString() string {
	if n == nil {
		return ""
	}
	text, _ := n.Scalar.(string)
	return text
}

// Get returns the value of a key in a mapping, or nil if the mapping does not have the key.
func (n *Node) Get(key string) *Node {
	if f := n.Field(key); f != nil {
		return f.Value
	}
	return nil
}

// Field returns the field of a mapping with the given key, or nil if the mapping does not have the key.
func (n *Node) Field(key string) *Field {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return &n.Fields[i]
		}
	}
	return nil
}

// indexFields returns a function that finds a field by its key, as Field does. Unlike Field, the returned
// function is fast even if the mapping has many fields.
func (n *Node) indexFields() func(key string) *Field {
	if len(n.Fields) <= 16 { // a linear search is faster for few fields
		return n.Field
	}
	fields := make(map[string]*Field, len(n.Fields))
	for i := range n.Fields {
		fields[n.Fields[i].Key] = &n.Fields[i]
	}
	return func(key string) *Field { return fields[key] }
}

// remove is the method that Merge calls when a null in the upper layer removes a key of the mapping. The argument
// "null" is a field in the upper layer. The key of this field is the removed key, and the value is null. The method
// stores the key and the position of this field.
func (n *Node) remove(null *Field) {
	if n.removed == nil {
		n.removed = map[string]problem.Position{}
	}
	n.removed[null.Key] = null.Position
}

// Removed reports whether the given key was removed by a null in a later layer, and returns the position of this null.
func (n *Node) Removed(key string) (problem.Position, bool) {
	if n == nil {
		return problem.Position{}, false
	}
	position, ok := n.removed[key]
	return position, ok
}

// Removals returns one position for each key that was removed from the mapping by a null in a later layer. Each
// returned position is the position of the null. The positions are sorted in the order of the text.
func (n *Node) Removals() []problem.Position {
	return slices.SortedFunc(maps.Values(n.removed), problem.Position.Compare)
}

// IdleNulls returns the nulls that removed nothing from the mapping. Each of these nulls is in a later layer. When
// Merge applied this layer, the mapping did not contain the key of the null.
func (n *Node) IdleNulls() []Field { return n.idle }

// Locate returns the position of the scalar at a path of keys and indexes. For a mapping or list that is the value
// of a key, Locate returns the position of the key. If the value is missing, Locate returns the position of its
// nearest parent that exists.
func (n *Node) Locate(path ...string) problem.Position {
	key, value := n.find(path)
	if value != nil && value.Kind == Scalar {
		return value.Position
	}
	return key
}

// LocateKey follows a path of keys and indexes, and returns the position of the last key in the path. If the path ends
// with an index, LocateKey returns the position of the list item. If the key or the item is missing, LocateKey returns
// the position of its nearest parent that exists.
func (n *Node) LocateKey(path ...string) problem.Position {
	key, _ := n.find(path)
	return key
}

// find follows a path of keys and indexes until a key or an item is missing. The result "key" is the position of the
// last key or item that the function find reached. If no part of the path is missing, the result "value" is the value
// at the end of the path. Otherwise, the result "value" is nil.
func (n *Node) find(path []string) (key problem.Position, value *Node) {
	key = n.Position
	for _, step := range path {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Items) {
			n = n.Items[i]
			key = n.Position
			continue
		}
		f := n.Field(step)
		if f == nil {
			return key, nil
		}
		key, n = f.Position, f.Value
	}
	return key, n
}

// Without is the method that removes the given key from a copy of the mapping, and returns the copy.
func (n *Node) Without(key string) *Node {
	changed := *n
	changed.Fields = slices.DeleteFunc(slices.Clone(n.Fields), func(f Field) bool { return f.Key == key })
	return &changed
}

// With is a method that returns a copy of the mapping. In the copy, the given key has the new value. The method adds no
// keys: if the mapping does not contain the given key, the returned copy is equal to the mapping.
func (n *Node) With(key string, value *Node) *Node {
	changed := *n
	changed.Fields = slices.Clone(n.Fields)
	if f := changed.Field(key); f != nil {
		f.Value = value
	}
	return &changed
}

// Renamed copies the mapping, changes the key of the field at the given index in the copy, and returns the copy.
func (n *Node) Renamed(index int, key string) *Node {
	changed := *n
	changed.Fields = slices.Clone(n.Fields)
	changed.Fields[index].Key = key
	return &changed
}
