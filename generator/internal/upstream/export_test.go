package upstream

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kinds returns all kinds for which New returns an object.
func Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, types := range []constructors{completeTypes, partialTypes} {
		for kind := range types {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
