package upstream_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/internal/upstream"
)

// openshiftDocument describes a platform that Argo CD delivers to OpenShift. The test in this file compares two sets:
// all kinds that trainyard can generate, and the kinds that Argo CD is allowed to apply. The document sets
// target.openshift, because otherwise the second set lacks the kinds of OpenShift, such as SecurityContextConstraints.
const openshiftDocument = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: all}
spec:
  target: {openshift: true}
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/openmpi:4.1"}}
  delivery: {argocd: {repoURL: https://git.acme.example/platform.git}}
`

func TestArgoCDProjectAllowsGeneratedKinds(t *testing.T) {
	request := generator.Request{Layers: []generator.Input{{Name: "platform.yaml", Text: []byte(openshiftDocument)}}}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	generated, allowed := map[string]string{}, map[string]string{}
	for _, kind := range upstream.Kinds() {
		generated[kind.Kind] = kind.Group
	}
	for name, kind := range platforms[0].Delivery.Kinds {
		allowed[name] = kind.Group
	}
	if diff := cmp.Diff(generated, allowed); diff != "" {
		t.Errorf("-generated +allowed:\n%s", diff)
	}
}
