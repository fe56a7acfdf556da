package controlplane_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/controlplane"
)

// ruled is a document that says all there is to say of rules.
const ruled = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: ruled}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: a}
  grafana:
    namespace: watching
    rules: {delivery: prometheus-operator, labels: {release: prometheus}, runbooks: "https://wiki.acme.example/runbooks"}
`

// TestRulesAreAppliedWithoutDrift, strictly, by the CRDs of the prometheus-operator.
func TestRulesAreAppliedWithoutDrift(t *testing.T) {
	cp := controlplane.Start(t)
	objs := generatedOf(t, ruled)
	expectApplied(t, cp, objs)
	if diff := cmp.Diff(map[string]int{"ClusterTrainingRuntime": 1, "PrometheusRule": 2}, byKind(objs)); diff != "" {
		t.Errorf("objects: -want +got:\n%s", diff)
	}
	for _, obj := range objs {
		if platform := obj.GetLabels()["trainyard.dev/platform"]; platform != "ruled" {
			t.Errorf("%s is labelled as of platform %s, want ruled", obj.GetName(), platform)
		}
		if release := obj.GetLabels()["release"]; obj.GetObjectKind().GroupVersionKind().Kind == "PrometheusRule" && release != "prometheus" {
			t.Errorf("%s is labelled as of release %q, want prometheus", obj.GetName(), release)
		}
	}
}
