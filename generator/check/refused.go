package check

import (
	"slices"

	"github.com/trainyard/trainyard/generator/internal/values"
)

// sharedSections lists the sections of spec that can affect rules about any other section. If the checker refuses
// a value of a shared section, trainyard evaluates no rules. Otherwise the rules would read the default instead
// of the refused value, and could report problems that the author's document does not have.
var sharedSections = []string{"target", "ceilings", "network", "admission"}

// refusedPaths lists the paths of the refused values. The checker has reported a problem for each refused value, and
// has left the value out of the document.
type refusedPaths [][]string

// decideAll reports whether a refused value could change the results of all rules. This is the case if a refused value
// is in a shared section, or is a top-level value such as spec.
func (r refusedPaths) decideAll() bool {
	return slices.ContainsFunc(r, func(path []string) bool {
		return len(path) < 2 || path[0] == "spec" && slices.Contains(sharedSections, path[1])
	})
}

// filter removes each finding that could be a consequence of a refused value. The checker leaves refused values out of
// the document that the rules read. A rule could therefore report a finding for the sole reason that a refused value is
// missing from this document.
func (r refusedPaths) filter(found []finding) []finding {
	return slices.DeleteFunc(found, func(f finding) bool {
		return slices.ContainsFunc(r, func(path []string) bool {
			return f.Given == path[len(path)-1] || slices.ContainsFunc(relatedPath(path), func(scope []string) bool {
				return len(f.Path) >= len(scope) && slices.Equal(f.Path[:len(scope)], scope)
			})
		})
	})
}

// relatedPath takes the path of a refused value, and returns one or more paths. The method "filter" compares the path
// of each finding with the returned paths. If the path of a finding is equal to a returned path, or begins with a
// returned path, "filter" removes the finding. The reason is that the refused value may have caused this finding. The
// first returned path is the path of the refused value, but relatedPath cuts off the end of a long path. For a value in
// spec.runtimes, the first path has at most five keys, as in spec.runtimes.mpi.resources.cpu. For a value in
// spec.queues, the first path has at most four keys, as in spec.queues.flavors.a100. For a value in spec.tenants, the
// first path has at most three keys, as in spec.tenants.team-a. For any other value, the first path has only two keys,
// as in spec.delivery or metadata.name. Some rules compare the refused value with other values. In the following cases,
// relatedPath also returns the paths of these other values. If the refused value is spec.delivery or spec.controller,
// or is inside one of these fields, relatedPath also returns spec.tenants. If the refused value is the whole field
// "storage" of a runtime, relatedPath also returns the path of the runtime's field "initializers". The reason is that
// each initializer names an entry of the field "storage". If the refused value is inside the field "storage",
// relatedPath returns only the first path. The refused value can be one of the fields "resources", "launcher" and
// "preflight" of a runtime, or can be inside one of these fields. In this case, relatedPath also returns the paths of
// three fields of the runtime: "numProcPerNode", "resources" and "fabric".
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

// listAll handles refused values in which the author possibly listed runtimes. Such a value can be the whole mapping
// spec.tenants, one of the tenants, the field "runtimes" of a tenant, or an item of this field. The rules do not see a
// refused value. Therefore the rules cannot know which runtimes are listed in the value. If one of these values is
// refused, listAll adds all runtimes of the document to the map "listed". The rules then treat all runtimes as listed.
// If listAll did not add a runtime, a rule could report that no tenant lists this runtime. This report could be wrong,
// because the refused value possibly lists this runtime.
func (r refusedPaths) listAll(listed map[string][]string, document map[string]any) {
	for _, path := range r {
		if len(path) >= 2 && path[0] == "spec" && path[1] == "tenants" && (len(path) < 4 || path[3] == "runtimes") {
			for runtime := range values.Mapping(document, "spec", "runtimes") {
				listed[runtime] = append(listed[runtime], path[len(path)-1])
			}
		}
	}
}
