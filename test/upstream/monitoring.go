package upstream

import (
	"os"
	"path/filepath"
)

// monitoringCRDs locates the CRDs of monitoring operators. Each entry contains a folder below tools/, a Go module
// that this folder pins, and the path of a CRD in this module.
var monitoringCRDs = []struct{ tools, module, file string }{
	{"dashboards", "github.com/grafana/grafana-operator/v5", "config/crd/bases/grafana.integreatly.org_grafanadashboards.yaml"},
	{"dashboards", "github.com/perses/perses-operator", "config/crd/bases/perses.dev_persesdashboards.yaml"},
	{"prometheus-operator", "github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
}

// MonitoringCRDs returns the CRDs for dashboards and alerting rules. The CRDs belong to the grafana-operator, the
// Perses operator and the prometheus-operator.
func MonitoringCRDs() (Manifests, error) {
	var read Manifests
	for _, crd := range monitoringCRDs {
		tools, err := Tools(crd.tools)
		if err != nil {
			return read, err
		}
		dir, err := tools.Module(crd.module)
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
