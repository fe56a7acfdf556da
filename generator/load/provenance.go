package load

import (
	"slices"
	"strconv"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"
)

// Value is one value of a document, with its position in the layer that sets the value.
type Value struct {
	Path     string           `json:"path"`  // such as spec.runtimes.a.image
	Keys     []string         `json:"-"`     // the keys of the path; for an item of a list, the key is its index
	Value    any              `json:"value"` // string, bool, int64 or float64; or an empty map or list
	Position problem.Position `json:"position"`
}

// Values lists the values that the document sets, in the order of the document. The list contains no defaults, and no
// values of spec.environments.
func (d *Document) Values() []Value {
	return slices.DeleteFunc(valuesOf(d.Root, nil), func(v Value) bool {
		return len(v.Keys) > 1 && v.Keys[0] == "spec" && v.Keys[1] == "environments"
	})
}

func valuesOf(n *document.Node, path []string) []Value {
	var found []Value
	switch {
	case n.Kind == document.Mapping && len(n.Fields) > 0:
		for _, f := range n.Fields {
			found = append(found, valuesOf(f.Value, values.Extend(path, f.Key))...)
		}
		return found
	case n.Kind == document.List && len(n.Items) > 0:
		for i, item := range n.Items {
			found = append(found, valuesOf(item, values.Extend(path, strconv.Itoa(i)))...)
		}
		return found
	case n.Kind == document.Mapping:
		return []Value{{problem.Path(path), path, map[string]any{}, n.Position}}
	case n.Kind == document.List:
		return []Value{{problem.Path(path), path, []any{}, n.Position}}
	}
	return []Value{{problem.Path(path), path, n.Scalar, n.Position}}
}
