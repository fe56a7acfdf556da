package generator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator/object"
)

// shortDocuments contains documents by name. Together, the documents contain every mapping that has a field with a
// default.
var shortDocuments = map[string]string{
	"no queues": `
  target: {}
  ceilings: {}
  runtimes:
    mpi:
      {from: intel-mpi, image: "a/b:1", resources: {}, launcher: {resources: {}}, tolerations: [{key: a, value: b}], preflight: {}, logs: {}, limits: {},
       storage: {d: {claim: c}, m: {claim: e}}, initializers: {dataset: {storage: d, resources: {}}, model: {storage: m, resources: {}}}}
  tenants:
    team-a: {runtimes: [mpi], namespace: {}, quota: {pods: 100}, editors: {groups: [a]}, repositories: ["https://git.example/b.git"], applications: {folders: [c]}}
  network: {apiServer: {cidrs: [10.0.0.1/32]}}
  admission: {}
  grafana: {delivery: operator, rules: {}}
  controller: {}
  delivery: {argocd: {repoURL: "https://git.example/a.git"}, helm: {}}
`,
	"queues": `
  target: {gang: kueue, kueue: "0.19"}
  runtimes: {mpi: {from: mpich, image: "a/b:1"}}
  queues:
    flavors: {a: {tolerations: [{key: a, value: b}]}}
    clusterQueues: {a: {groups: [{flavors: [{flavor: a, quota: {cpu: 9, memory: 9Gi}}]}]}}
`,
	"priorities": `
  runtimes: {mpi: {from: mpich, image: "a/b:1", gang: {priorityClass: high}}}
  priorityClasses: {high: {value: 9}}
`,
}

func TestWritingDefaultsChangesNothing(t *testing.T) {
	fields, err := New(trainyard.CUE).Fields()
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for name, text := range shortDocuments {
		document := readPlain(t, text)
		want := objectsOf(t, document)
		for _, f := range fields {
			if f.Default != nil && put(document, strings.Split(strings.ReplaceAll(f.Path, "[]", ".[]"), "."), f.Default) {
				written[f.Path] = true
			}
		}
		if diff := cmp.Diff(want, objectsOf(t, document)); diff != "" {
			t.Errorf("%s: -omitted +written:\n%s", name, diff)
		}
	}
	for _, f := range fields {
		if f.Default != nil && !written[f.Path] {
			t.Errorf("%s: no document in shortDocuments contains the mapping of this field: add the mapping to one of them", f.Path)
		}
	}
	if len(written) < 30 {
		t.Errorf("want at least 30 fields with a default, got %d", len(written))
	}
}

func readPlain(t *testing.T, spec string) map[string]any {
	t.Helper()
	var document map[string]any
	if err := yaml.Unmarshal([]byte("apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: p}\nspec:"+spec), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// put writes the argument "value" to each missing field whose path matches the argument "path". It reports whether it
// wrote to at least one field. In the argument "path", NAME matches every key, and [] matches every item of a list.
func put(node any, path []string, value any) (done bool) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			done = put(item, path[1:], value) || done
		}
	case map[string]any:
		below, given := node[path[0]]
		switch {
		case path[0] == "NAME":
			for _, below := range node {
				done = put(below, path[1:], value) || done
			}
		case len(path) > 1:
			return put(below, path[1:], value)
		case !given:
			node[path[0]] = value
			return true
		}
	}
	return done
}

func objectsOf(t *testing.T, document map[string]any) map[object.ID]map[string]any {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := New(trainyard.CUE).Generate(t.Context(), Request{Layers: []Input{{Name: "p.json", Text: text}}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	made := map[object.ID]map[string]any{}
	for o := range platforms[0].Objects.All() {
		made[o.ID()] = o.Fields()
	}
	return made
}
