package object

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Set is an ordered set of objects. The order of the objects does not depend on the order of the input. Namespaces come
// first, because the API server refuses an object whose namespace does not exist. RoleBindings and ClusterRoleBindings
// come last, because a tenant must not have rights before the tenant's policies are in force. Objects other than
// Namespaces, RoleBindings and ClusterRoleBindings are ordered by group, kind, namespace and name.
type Set struct {
	objects []Object
}

// NewSet returns a set of objects. NewSet fails if two objects have the same identity in a cluster.
func NewSet(objects ...Object) (Set, error) {
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b Object) int { return compareIDs(a.id, b.id) })
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; compareIDs(a.id, b.id) == 0 {
			return Set{}, fmt.Errorf("two objects have the ID %s: one comes from %s, the other from %s", a.id, a.origin.Input, b.origin.Input)
		}
	}
	return Set{objects: sorted}, nil
}

// compareIDs orders two IDs. The API version does not count: two IDs that differ only in the API version identify the
// same object.
func compareIDs(a, b ID) int {
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

func rank(id ID) int {
	switch {
	case id.Group == "" && id.Kind == "Namespace":
		return 0
	case id.GrantsRights():
		return 2
	}
	return 1
}

// All returns an iterator over the objects in the order of the set.
func (s Set) All() iter.Seq[Object] { return slices.Values(s.objects) }

// Len returns the number of objects in the set.
func (s Set) Len() int { return len(s.objects) }

// Select returns the objects for which the function "want" returns true, in the same order.
func (s Set) Select(want func(Object) bool) Set {
	var selected []Object
	for _, o := range s.objects {
		if want(o) {
			selected = append(selected, o)
		}
	}
	return Set{objects: selected}
}
