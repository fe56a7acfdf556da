package upstream

import (
	"os"
	"path/filepath"
)

// watching is where the CRDs of what watches a platform are: a folder below tools/, a module that it
// pins, and a file of that.
var watching = []struct{ tools, module, file string }{
	{"dashboards", "github.com/grafana/grafana-operator/v5", "config/crd/bases/grafana.integreatly.org_grafanadashboards.yaml"},
	{"dashboards", "github.com/perses/perses-operator", "config/crd/bases/perses.dev_persesdashboards.yaml"},
	{"prometheus-operator", "github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
}

// Watching are the CRDs of what takes dashboards to people, and rules to Prometheus: the
// grafana-operator's, that of Perses' operator, and the prometheus-operator's.
func Watching() (Manifests, error) {
	var read Manifests
	for _, crd := range watching {
		tools, err := Tools(crd.tools)
		if err != nil {
			return read, err
		}
		dir, err := tools.module(crd.module)
		if err != nil {
			return read, err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(crd.file)))
		if err != nil {
			return read, err
		}
		if err := EachDocument(text, read.add); err != nil {
			return read, err
		}
	}
	return read, nil
}
