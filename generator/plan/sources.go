package plan

import "github.com/trainyard/trainyard/generator/internal/values"

// addSources adds one request for each entry of a tenant's field "sources". The request describes a TrainJobSource.
func (p *planner) addSources() {
	tenants := values.Mapping(p.Values, "spec", "tenants")
	for _, tenant := range sortedKeys(tenants) {
		sources := values.Mapping(tenants, tenant, "sources")
		for _, name := range sortedKeys(sources) {
			p.add(Request{
				From: []string{"spec", "tenants", tenant, "sources", name}, Builder: Builder{sourceObjects, "trainjobsource"}, CacheGroup: "trainjobsource", Namespaces: []string{tenant},
				Input: map[string]any{"platform": p.plan.Name, "name": name, "settings": sources[name]},
			})
		}
	}
}
