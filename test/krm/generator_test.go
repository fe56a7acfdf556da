package krm

import (
	"strings"
	"testing"
)

// platformDocument is a platform document that kustomize can use as a functionConfig. Tests replace the text FUNCTION
// with a value such as "generate".
const platformDocument = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata:
  name: acme
  annotations:
    trainyard.dev/environment: prod
    trainyard.dev/function: FUNCTION
    config.kubernetes.io/function: |
      exec: {path: trainyard-fn}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1.6, limits: {maxNodes: 4}}
  tenants:
    team-a: {runtimes: [mpi], editors: {groups: [a]}}
  environments: {dev: {}, prod: {}}
`

// requireRun is a kustomize replacement that makes the build fail if the function trainyard-fn did not run. The source
// of the replacement is an object of the kind FunctionRun, which only trainyard-fn adds. Without this object, the
// replacement fails. With this object, the replacement copies a field of the object to itself, and so changes nothing.
const requireRun = `replacements:
- source: {kind: FunctionRun, name: acme, fieldPath: function}
  targets:
  - select: {kind: FunctionRun, name: acme}
    fieldPaths: [function]
`

const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
generators: [platform.yaml]
sortOptions: {order: fifo}
` + requireRun

// TestGeneratorErrors checks that the function trainyard-fn writes errors to standard error. The list "results" in the
// function's output is not enough, because kustomize does not show this list.
func TestGeneratorErrors(t *testing.T) {
	w := newWorkspace(t)
	w.write(t, "base/kustomization.yaml", kustomization)
	for name, tc := range map[string]struct{ old, new, want string }{
		"a typing error":         {"image:", "imag:", `Platform acme: spec.runtimes.mpi.imag: unknown key: did you mean "image"?`},
		"no environment":         {"    trainyard.dev/environment: prod\n", "", "the document has environments: name one with the annotation trainyard.dev/environment (one of dev, prod)"},
		"an unknown environment": {"environment: prod", "environment: prdo", "prdo"},
		"an unknown function":    {"FUNCTION", "mutate", "want one of generate, transform, validate"},
		"a wrong place":          {"from: openmpi-cpu", "from: openmpi-cpu, numNodes: 9", "numNodes"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(platformDocument, tc.old, tc.new, 1)
			w.write(t, "base/platform.yaml", strings.Replace(text, "FUNCTION", "generate", 1))
			out, err := w.runBuild(t, "base", allowed...)
			if err == nil || len(out) > 0 || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("kustomize writes %d bytes and returns %v, want nothing and %q", len(out), err, tc.want)
			}
		})
	}
}
