package controlplane_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
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
    rules: {delivery: prometheus-operator, labels: {release: prometheus, trainyard.dev/platform: other}, runbooks: "https://wiki.acme.example/runbooks"}
`

// TestRulesAreAppliedWithoutDrift, strictly, by the CRDs of the prometheus-operator.
func TestRulesAreAppliedWithoutDrift(t *testing.T) {
	cmd := exec.Command("go", "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator")
	cmd.Dir = repo.Path(t, "tools/prometheus-operator")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("finding the module with the CRDs: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	cp := controlplane.Start(t)
	crd := filepath.Join(module.Dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_prometheusrules.yaml")
	if _, err := envtest.InstallCRDs(cp.Config(), envtest.CRDInstallOptions{Paths: []string{crd}, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	objs := generatedOf(t, ruled)
	expectApplied(t, cp, objs)
	if diff := cmp.Diff(map[string]int{"ClusterTrainingRuntime": 1, "PrometheusRule": 2}, byKind(objs)); diff != "" {
		t.Errorf("objects: -want +got:\n%s", diff)
	}
	for _, obj := range objs {
		if platform := obj.GetLabels()["trainyard.dev/platform"]; platform != "ruled" {
			t.Errorf("%s is labelled as of platform %s, want ruled: labels are ours before they are the document's", obj.GetName(), platform)
		}
	}
}
