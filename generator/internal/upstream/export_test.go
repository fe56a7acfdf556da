package upstream

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kinds are all that New knows.
func Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, known := range all {
		for kind := range known {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
