package plan

import (
	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
)

var namesPath = cue.ParsePath("names")

// addDashboards adds a request for each Grafana dashboard, if the document sets spec.grafana.delivery.
func (p *planner) addDashboards(e *evaluate.Evaluator) error {
	given := values.Mapping(p.Values, "spec", "grafana")
	delivery, _ := given["delivery"].(string)
	if delivery == "" {
		return nil
	}
	builders, err := e.Package(dashboardObjects)
	if err != nil {
		return err
	}
	var names []string
	if err := evaluate.Decode(builders.LookupPath(namesPath), &names, "names of dashboards"); err != nil {
		return err
	}
	for _, name := range names {
		p.add(Request{
			From: []string{"spec", "grafana"}, Builder: Builder{dashboardObjects, delivery}, CacheGroup: name, Namespaces: []string{noNamespace},
			Input: map[string]any{"platform": p.plan.Name, "name": name, "controller": p.hasController(), "settings": values.Pick(given, []string{"namespace", "folder", "instances"})},
		})
	}
	return nil
}
