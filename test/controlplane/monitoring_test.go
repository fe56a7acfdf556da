package controlplane_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
)

// rulesPlatform is a document that sets all fields of alerting rules.
const rulesPlatform = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: rules}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: a}
  grafana:
    namespace: watching
    rules: {delivery: prometheus-operator, labels: {release: prometheus}, runbooks: "https://wiki.acme.example/runbooks"}
`

// TestRulesAreAppliedWithoutDrift applies alerting rules against the CRDs of the prometheus-operator.
func TestRulesAreAppliedWithoutDrift(t *testing.T) {
	cp := controlplane.Start(t)
	objs := generatedOf(t, rulesPlatform)
	expectApplied(t, cp, objs)
	if diff := cmp.Diff(map[string]int{"ClusterTrainingRuntime": 1, "PrometheusRule": 2}, byKind(objs)); diff != "" {
		t.Errorf("objects: -want +got:\n%s", diff)
	}
	for _, obj := range objs {
		if platform := obj.GetLabels()[v1alpha1.PlatformLabel]; platform != "rules" {
			t.Errorf("%s has label platform %s, want rules", obj.GetName(), platform)
		}
		if release := obj.GetLabels()["release"]; obj.GetObjectKind().GroupVersionKind().Kind == "PrometheusRule" && release != "prometheus" {
			t.Errorf("%s has label release %q, want prometheus", obj.GetName(), release)
		}
	}
}
