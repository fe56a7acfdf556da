package object

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Set is an ordered set of objects, which every format renders. Its order does not depend on the order of the input:
// namespaces come first, because other objects can only be applied to existing namespaces, and the rest is ordered by group,
// kind, namespace and name.
type Set struct {
	objects []Object
}

// NewSet orders objects. It fails if two share an ID.
func NewSet(objects ...Object) (Set, error) {
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b Object) int { return compare(a.id, b.id) })
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; compare(a.id, b.id) == 0 {
			return Set{}, fmt.Errorf("two objects have the ID %s: from %s and %s", a.id, a.origin.Input, b.origin.Input)
		}
	}
	return Set{objects: sorted}, nil
}

// compare ignores the version, because two versions of a kind are the same object in a cluster.
func compare(a, b ID) int {
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

func rank(id ID) int {
	if id.Group == "" && id.Kind == "Namespace" {
		return 0
	}
	return 1
}

// All ranges over the objects in order.
func (s Set) All() iter.Seq[Object] { return slices.Values(s.objects) }

// Len counts the objects.
func (s Set) Len() int { return len(s.objects) }

// Select returns the set of the objects for which want returns true.
func (s Set) Select(want func(Object) bool) Set {
	var selected []Object
	for _, o := range s.objects {
		if want(o) {
			selected = append(selected, o)
		}
	}
	return Set{objects: selected}
}
