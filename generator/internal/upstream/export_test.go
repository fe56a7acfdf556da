package upstream

import "k8s.io/apimachinery/pkg/runtime/schema"

func Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, types := range []constructors{completeTypes, partialTypes} {
		for kind := range types {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
