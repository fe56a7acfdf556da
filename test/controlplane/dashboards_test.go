package controlplane_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
)

// dashboardPlatform is a document with dashboards, in which tests replace the value of the field
// "delivery".
const dashboardPlatform = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: dashboards}
spec:
  target: {openshift: true}
  runtimes:
    mpi: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1}
  grafana: {delivery: %s}
`

// TestDashboardsAreAppliedWithoutDrift applies the dashboards for every value of the field "delivery". The API server
// has the CRDs of the operators that read the dashboards. The API server must accept every field of the dashboards,
// and must not add fields.
func TestDashboardsAreAppliedWithoutDrift(t *testing.T) {
	cp := controlplane.Start(t)
	for delivery, kind := range map[string]string{
		"operator": "GrafanaDashboard", "operator, instances: {team: a}": "GrafanaDashboard", "sidecar": "ConfigMap", "openshift-console": "ConfigMap", "perses": "PersesDashboard",
	} {
		t.Run(delivery, func(t *testing.T) {
			var dashboards []client.Object
			for _, obj := range generateObjects(t, generator.Input{Name: "platform.yaml", Text: fmt.Appendf(nil, dashboardPlatform, delivery)}) {
				if obj.GetObjectKind().GroupVersionKind().Kind == kind {
					dashboards = append(dashboards, obj)
				}
			}
			if len(dashboards) < 6 {
				t.Fatalf("got %d dashboards, want at least 6", len(dashboards))
			}
			expectApplied(t, cp, dashboards)
			for _, dashboard := range dashboards { // two values of the field "delivery" create objects with the same names
				if err := cp.Client().Delete(t.Context(), dashboard); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
