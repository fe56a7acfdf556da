package check

import (
	"slices"

	"github.com/trainyard/trainyard/generator/internal/values"
)

// sharedSections lists the sections of spec that can affect rules about any other section. If the checker refuses
// a value of a shared section, no rules are evaluated. The rules would read the default instead of the refused
// value, and could report problems that the author's document does not have.
var sharedSections = []string{"target", "ceilings", "network", "admission"}

// refusedPaths lists the paths of the refused values. The checker has reported a problem for each refused value, and
// has left the value out of the document.
type refusedPaths [][]string

// decideAll reports whether at least one of the refused values may affect the results of all rules.
func (r refusedPaths) decideAll() bool {
	return slices.ContainsFunc(r, func(path []string) bool {
		return len(path) < 2 || path[0] == "spec" && slices.Contains(sharedSections, path[1])
	})
}

// filter removes each finding that could be a consequence of a refused value. The rules read a
// document without the refused values, so they may report a problem only because a value is
// missing.
func (r refusedPaths) filter(found []finding) []finding {
	return slices.DeleteFunc(found, func(f finding) bool {
		return slices.ContainsFunc(r, func(path []string) bool {
			return f.Given == path[len(path)-1] || slices.ContainsFunc(relatedPath(path), func(scope []string) bool {
				return len(f.Path) >= len(scope) && slices.Equal(f.Path[:len(scope)], scope)
			})
		})
	})
}

// relatedPath returns the path of the entry or section that contains a value. It also returns the paths of other
// parts of the document with which rules compare the value. Rules compare a runtime's storage with its initializers.
// Some rules compare a runtime's resources, launcher or preflight with other fields of the same runtime:
// numProcPerNode, resources or fabric. Rules compare spec.delivery and spec.controller with spec.tenants.
func relatedPath(path []string) [][]string {
	depth := map[string]int{"runtimes": 5, "tenants": 3, "queues": 4}[path[1]]
	scope := path[:min(len(path), max(depth, 2))]
	switch {
	case path[1] == "delivery", path[1] == "controller":
		return [][]string{scope, {"spec", "tenants"}}
	case path[1] == "runtimes" && len(path) == 4 && path[3] == "storage":
		return [][]string{scope, values.Extend(scope[:3], "initializers")}
	case path[1] == "runtimes" && len(path) >= 4 && slices.Contains([]string{"resources", "launcher", "preflight"}, path[3]):
		return [][]string{scope, values.Extend(scope[:3], "numProcPerNode"), values.Extend(scope[:3], "resources"), values.Extend(scope[:3], "fabric")}
	}
	return [][]string{scope}
}

// listAll adds an entry to every runtime in the map "listed" for each refused value that may list runtimes:
// spec.tenants, a tenant, its field "runtimes", or an item of this field. It is unknown which runtimes the author
// lists there, so rules must not report that no tenant lists a runtime.
func (r refusedPaths) listAll(listed map[string][]string, document map[string]any) {
	for _, path := range r {
		if len(path) >= 2 && path[0] == "spec" && path[1] == "tenants" && (len(path) < 4 || path[3] == "runtimes") {
			for runtime := range values.Mapping(document, "spec", "runtimes") {
				listed[runtime] = append(listed[runtime], path[len(path)-1])
			}
		}
	}
}
