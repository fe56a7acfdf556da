package controlplane_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
)

// watched has its dashboards delivered by one of those who can.
const watched = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: watched}
spec:
  target: {openshift: true}
  runtimes:
    watched: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1}
  grafana: {delivery: %s}
`

// TestDashboardsAreAppliedWithoutDrift, strictly, in all forms, by the schemas of the operators that read them.
func TestDashboardsAreAppliedWithoutDrift(t *testing.T) {
	cp := controlplane.Start(t)
	for delivery, kind := range map[string]string{
		"operator": "GrafanaDashboard", "operator, instances: {team: a}": "GrafanaDashboard", "sidecar": "ConfigMap", "openshift-console": "ConfigMap", "perses": "PersesDashboard",
	} {
		t.Run(delivery, func(t *testing.T) {
			var boards []client.Object
			for _, obj := range fromLayers(t, generator.Input{Name: "watched.yaml", Text: fmt.Appendf(nil, watched, delivery)}) {
				if obj.GetObjectKind().GroupVersionKind().Kind == kind {
					boards = append(boards, obj)
				}
			}
			if len(boards) < 6 {
				t.Fatalf("%d dashboards", len(boards))
			}
			makeNamespaces(t, cp, boards)
			apply(t, cp, boards...)
			for _, board := range boards {
				expectNothingAdded(t, cp, board)
			}
			expectSettled(t, cp, boards...)
			for _, board := range boards { // two forms are objects of the same name
				if err := cp.Client().Delete(t.Context(), board); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
