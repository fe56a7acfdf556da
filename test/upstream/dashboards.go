package upstream

import (
	"os"
	"path/filepath"
)

// Dashboards are the CRDs of what takes dashboards to people: the grafana-operator's and that of Perses' operator.
func Dashboards() (Manifests, error) {
	var read Manifests
	tools, err := Tools("dashboards")
	if err != nil {
		return read, err
	}
	for module, crd := range map[string]string{
		"github.com/grafana/grafana-operator/v5": "grafana.integreatly.org_grafanadashboards.yaml",
		"github.com/perses/perses-operator":      "perses.dev_persesdashboards.yaml",
	} {
		dir, err := tools.module(module)
		if err != nil {
			return read, err
		}
		text, err := os.ReadFile(filepath.Join(dir, "config", "crd", "bases", crd))
		if err != nil {
			return read, err
		}
		if err := EachDocument(text, read.add); err != nil {
			return read, err
		}
	}
	return read, nil
}
