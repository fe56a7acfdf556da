package document

import "slices"

// Compose returns one patch with the effect of two patches in turn: Merge(Merge(base, first), second) has the values of
// Merge(base, Compose(first, second)). A null of either patch stays a null, because it can remove a key of the base.
// Compose does not change its arguments.
func Compose(first, second *Node) *Node {
	switch {
	case first.Kind == Mapping && second.Kind == Mapping && !second.replaces:
		return composeMappings(first, second)
	case isNamedList(first) && isNamedList(second) && !second.replaces:
		return mergeLists(first, second, Compose)
	}
	replacement := *second
	// Two nulls replace no earlier value. They can only remove a key of the base.
	replacement.replaces = first.replaces || !first.Empty() || !second.Empty()
	return &replacement
}

func composeMappings(first, second *Node) *Node {
	composed := *first
	composed.Incomplete = first.Incomplete || second.Incomplete
	composed.Fields = slices.Clone(first.Fields)
	inFirst, inSecond := first.indexFields(), second.indexFields()
	for i, f := range composed.Fields {
		if change := inSecond(f.Key); change != nil {
			composed.Fields[i] = mergeFields(f, *change, Compose)
		}
	}
	for _, f := range second.Fields {
		if inFirst(f.Key) == nil {
			composed.Fields = append(composed.Fields, f)
		}
	}
	return &composed
}
