// Package guardtest helps tests compare two implementations of the admission rules: the Go package policies/guard, and the
// rules in CEL. A case consists of a TrainJob and the result that both implementations must give. The package loads cases
// from policies/testdata, generates the objects of the platform for which the cases are written, and runs guard on a case.
package guardtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/test/repo"
)

// Cases reads the cases in a file of policies/testdata, and fills in default values for fields
// that a case does not set.
func Cases(t testing.TB, file string) []cases.Case {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, "policies", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var test struct {
		APIVersion, Kind string
		Cases            []cases.Case
	}
	if err := yaml.UnmarshalStrict(text, &test); err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	for i, c := range test.Cases {
		test.Cases[i] = c.Completed()
	}
	return test.Cases
}

// Files lists the files of policies/testdata.
func Files(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(repo.Path(t, "policies", "testdata", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("listing the files of cases: found %d, %v", len(paths), err)
	}
	for i, path := range paths {
		paths[i] = filepath.Base(path)
	}
	return paths
}

// acmeDocument is the path of the document for which the cases in policies/testdata are written.
const acmeDocument = "examples/acme/platform.yaml"

// WithoutKueue is a layer for the example "acme". The layer removes Kueue, and declares that the network is encrypted.
// Some rules apply only to platforms without Kueue, or only to platforms with an encrypted network.
const WithoutKueue = `
spec:
  target: {gang: none, kueue: null}
  queues: null
  runtimes: {mpi-horovod-gpu: {gang: null}}
  network: {encryption: ipsec}
  tenants: {team-vision: {queues: null, priorityClasses: null}, team-speech: {queues: null}, team-physics: {queues: null}}
`

// Objects returns the generated objects of the environment "prod" of the example acme. The given layers override
// fields of the document. Objects returns each object as decoded JSON.
func Objects(t testing.TB, layers ...string) []map[string]any {
	t.Helper()
	text, err := trainyard.Examples.ReadFile(acmeDocument)
	if err != nil {
		t.Fatal(err)
	}
	request := generator.Request{Layers: []generator.Input{{Name: acmeDocument, Text: text}}, Environments: []string{"prod"}}
	for _, layer := range layers {
		request.Layers = append(request.Layers, generator.Input{Name: "layer.yaml", Text: []byte(layer)})
	}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for o := range platforms[0].Objects.All() {
		objects = append(objects, o.Fields())
	}
	return objects
}

// Rules evaluates the admission rules with the package "guard", and returns the names of the rules that the TrainJob of
// a case breaks. Each name is returned only once. If a value in the TrainJob has a wrong type, the test fails. The API
// server refuses such a TrainJob before it evaluates any rule, so a case with this TrainJob cannot test the rules.
func Rules(t testing.TB, reader guard.Reader, parameters guard.Parameters, c cases.Case) []string {
	t.Helper()
	denials, typeErrors := reader.Check(guard.Request{User: c.User, TrainJob: c.TrainJob, Before: c.Before, NamespaceLabels: c.NamespaceLabels}, parameters)
	if len(typeErrors) > 0 {
		t.Fatalf("the TrainJob has values of wrong types: %v", typeErrors)
	}
	var rules []string
	for _, denial := range denials {
		rules = append(rules, string(denial.Rule))
	}
	return slices.Compact(rules)
}
