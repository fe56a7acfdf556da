package runtimevet

import (
	"slices"
	"strconv"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// value is a part of a document, such as a scalar or a list item. If the document does not contain the value, the
// field "node" is empty, and the position is the position of the nearest parent in the document.
type value struct {
	node *document.Node
	at   problem.Position // position of a scalar or list item; for any other value, position of its key
	path []string
}

func rootValue(n *document.Node) value { return value{node: n, at: n.Position} }

// childValue returns the value of a child of v. The argument "n" is the node of this child. The argument "step" is the
// last element of the child's path: a key, or the name or index of a list item. If the child is a scalar other than
// null, its position is the position of n. Otherwise its position is the argument "at", for example the position of its
// key.
func (v value) childValue(step string, n *document.Node, at problem.Position) value {
	if n.Kind == document.Scalar && n.Scalar != nil {
		at = n.Position
	}
	return value{n, at, append(slices.Clip(v.path), step)}
}

// isSet reports whether the document sets the value. isSet returns false for null, because the cluster
// treats a field with the value null as a missing field.
func (v value) isSet() bool { return !v.node.Empty() }

func (v value) get(keys ...string) value {
	for _, key := range keys {
		if f := v.node.Field(key); f != nil {
			v = v.childValue(key, f.Value, f.Position)
		} else {
			v = v.childValue(key, &document.Node{}, v.at)
		}
	}
	return v
}

func (v value) fields() []value {
	all := make([]value, len(v.node.Fields))
	for i, f := range v.node.Fields {
		all[i] = v.childValue(f.Key, f.Value, f.Position)
	}
	return all
}

// listItems returns the items of a list. The path of an item ends with the item's name, or with its index if the item
// has no name.
func (v value) listItems() []value {
	all := make([]value, len(v.node.Items))
	for i, n := range v.node.Items {
		step := strconv.Itoa(i)
		if name := n.Get("name").AsString(); name != "" {
			step = name
		}
		all[i] = v.childValue(step, n, n.Position)
	}
	return all
}

func (v value) named(name string) value {
	for _, item := range v.listItems() {
		if item.name() == name {
			return item
		}
	}
	return v.childValue(name, &document.Node{}, v.at)
}

func (v value) key() string { return v.path[len(v.path)-1] }

func (v value) name() string { return v.node.Get("name").AsString() }

func (v value) text() string { return v.node.AsString() }

// listTexts returns the strings of a list. An item that is not a string becomes an empty string.
func (v value) listTexts() []string {
	all := make([]string, len(v.node.Items))
	for i, item := range v.node.Items {
		all[i] = item.AsString()
	}
	return all
}

// readInteger returns the value as an integer. A document can write an integer as 2 or as 2.0. The result "ok" is false
// if the value is not an integer.
func (v value) readInteger() (number int64, ok bool) {
	switch scalar := v.node.Scalar.(type) {
	case int64:
		return scalar, true
	case float64:
		return int64(scalar), scalar == float64(int64(scalar))
	}
	return 0, false
}

func (v value) isFalse() bool { return v.node.Scalar == false }
