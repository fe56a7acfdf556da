package document

import "slices"

// Compose returns one patch that has the same effect as two patches that are applied one after the other. For each base,
// Merge(base, Compose(first, second)) has the same values as Merge(Merge(base, first), second). The composed patch keeps
// nulls, because a null can remove a key of the base. If the second patch sets a value where the first patch has a null,
// the value replaces the null. Compose does not change its arguments.
func Compose(first, second *Node) *Node {
	switch {
	case first.Kind == Mapping && second.Kind == Mapping && !second.replaces:
		return composeMappings(first, second)
	case isNamedList(first) && isNamedList(second) && !second.replaces:
		return mergeLists(first, second, Compose)
	}
	replacement := *second
	// If both values are null, the second null has no effect. Therefore the result has the flag "replaces" only if the
	// first null has this flag. In all other cases, the second value replaces the first value, so the result has the
	// flag.
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
