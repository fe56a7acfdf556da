package upstream_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/internal/upstream"
)

// document is of a cluster that has all kinds, for Argo CD.
const document = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: all}
spec:
  target: {openshift: true}
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/openmpi:4.1"}}
  delivery: {argocd: {repoURL: https://git.acme.example/platform.git}}
`

// TestArgoCDMayApplyAllKinds that we can emit, and no others: what policies/delivery says of kinds is what projects allow.
func TestArgoCDMayApplyAllKinds(t *testing.T) {
	request := generator.Request{Layers: []generator.Input{{Name: "platform.yaml", Text: []byte(document)}}}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	emitted, allowed := map[string]string{}, map[string]string{}
	for _, kind := range upstream.Kinds() {
		emitted[kind.Kind] = kind.Group
	}
	for name, kind := range platforms[0].Delivery.Kinds {
		allowed[name] = kind.Group
	}
	if diff := cmp.Diff(emitted, allowed); diff != "" {
		t.Errorf("-emitted +allowed:\n%s", diff)
	}
}
