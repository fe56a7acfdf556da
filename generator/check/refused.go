package check

import (
	"slices"

	"github.com/trainyard/trainyard/generator/internal/values"
)

// sharedSections are the keys of spec whose values decide on rules about all other sections. Without a refused value,
// rules would use its default, and report consequences of a default that the author did not choose.
var sharedSections = []string{"target", "ceilings", "network", "admission"}

// refusals are the paths of values that were left out of a document because they have been reported.
type refusals [][]string

// decideAll reports whether every rule may depend on a value that was left out.
func (r refusals) decideAll() bool {
	return slices.ContainsFunc(r, func(path []string) bool {
		return len(path) < 2 || path[0] == "spec" && slices.Contains(sharedSections, path[1])
	})
}

// filter removes the findings about values that relate to one that was left out.
func (r refusals) filter(found []finding) []finding {
	return slices.DeleteFunc(found, func(f finding) bool {
		return slices.ContainsFunc(r, func(path []string) bool {
			return f.Given == path[len(path)-1] || slices.ContainsFunc(related(path), func(scope []string) bool {
				return len(f.Path) >= len(scope) && slices.Equal(f.Path[:len(scope)], scope)
			})
		})
	})
}

// related returns the paths whose values relate to a value: one entry of a setting of a runtime, one tenant, one queue,
// or one section of spec. Initializers relate to all storage of their runtime, and tenants to the delivery.
func related(path []string) [][]string {
	depth := map[string]int{"runtimes": 5, "tenants": 3, "queues": 4}[path[1]]
	scope := path[:min(len(path), max(depth, 2))]
	switch {
	case path[1] == "delivery":
		return [][]string{scope, {"spec", "tenants"}}
	case path[1] == "runtimes" && len(path) == 4 && path[3] == "storage":
		return [][]string{scope, values.Extend(scope[:3], "initializers")}
	}
	return [][]string{scope}
}

// listAll adds a tenant whose list of runtimes was left out to all runtimes, because it may list any of them.
func (r refusals) listAll(listed map[string][]string, document map[string]any) {
	for _, path := range r {
		if len(path) >= 2 && path[0] == "spec" && path[1] == "tenants" && (len(path) < 4 || path[3] == "runtimes") {
			for runtime := range values.Mapping(document, "spec", "runtimes") {
				listed[runtime] = append(listed[runtime], path[len(path)-1])
			}
		}
	}
}
