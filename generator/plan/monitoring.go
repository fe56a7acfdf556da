package plan

import (
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
)

// addMonitoring adds the requests for Prometheus rules, if the document sets grafana and its rules.delivery is not none.
func (p *planner) addMonitoring(*evaluate.Evaluator) error {
	given := values.Mapping(p.Values, "spec", "grafana")
	if len(given) == 0 || values.Mapping(given, "rules")["delivery"] == "none" {
		return nil
	}
	for _, name := range []string{"records", "alerts"} {
		p.add(Request{
			From: []string{"spec", "grafana"}, Builder: Builder{monitoringObjects, name}, CacheGroup: name, Namespaces: []string{noNamespace},
			Input: map[string]any{"platform": p.plan.Name, "settings": given},
		})
	}
	return nil
}
