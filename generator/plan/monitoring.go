package plan

import (
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
)

// addMonitoring adds the requests for Prometheus rules, if the document sets spec.grafana. If
// spec.grafana.rules.delivery is none, addMonitoring adds nothing.
func (p *planner) addMonitoring(*evaluate.Evaluator) error {
	given := values.Mapping(p.Values, "spec", "grafana")
	if len(given) == 0 || values.Mapping(given, "rules")["delivery"] == "none" {
		return nil
	}
	for _, name := range []string{"records", "alerts"} {
		p.add(Request{
			From: []string{"spec", "grafana"}, Builder: Builder{monitoringObjects, name}, CacheGroup: name, Namespaces: []string{noNamespace},
			Input: map[string]any{"platform": p.plan.Name, "settings": given, "controller": p.hasController()},
		})
	}
	return nil
}

// hasController reports whether trainyard's controller runs in the cluster.
func (p *planner) hasController() bool {
	return values.Mapping(p.Values, "spec", "controller")["enabled"] == true
}
