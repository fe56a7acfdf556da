package bench

import (
	"os"
	"regexp"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

const object = `---
kind: TrainingRuntime
metadata:
  name: mpi
  namespace: team-a
  annotations: {limits: '{"maxNodes":1,"maxGPUs":2}'}
spec: {nodes: [1, 2]}
`

func TestDescribeDifferenceComparesObjectsNotText(t *testing.T) {
	cases := map[string]struct {
		other string
		equal bool
	}{
		"the same text": {object, true},
		"keys in another order and another syntax": {`{"spec": {"nodes": [1, 2]}, "kind": "TrainingRuntime",
			"metadata": {"namespace": "team-a", "name": "mpi", "annotations": {"limits": "{\"maxGPUs\": 2, \"maxNodes\": 1}"}}}`, true},
		"another value":                  {"kind: TrainingRuntime\nmetadata: {name: mpi, namespace: team-a}\nspec: {nodes: [1, 3]}\n", false},
		"a list in another order":        {"kind: TrainingRuntime\nmetadata: {name: mpi, namespace: team-a, annotations: {limits: '{\"maxNodes\":1,\"maxGPUs\":2}'}}\nspec: {nodes: [2, 1]}\n", false},
		"another value in an annotation": {"kind: TrainingRuntime\nmetadata: {name: mpi, namespace: team-a, annotations: {limits: '{\"maxNodes\":9,\"maxGPUs\":2}'}}\nspec: {nodes: [1, 2]}\n", false},
		"an object in another namespace": {"kind: TrainingRuntime\nmetadata: {name: mpi, namespace: team-b}\n", false},
		"an additional object":           {object + "---\nkind: TrainingRuntime\nmetadata: {name: other}\n", false},
		"no object":                      {"", false},
		"a string instead of a number":   {"kind: TrainingRuntime\nmetadata: {name: mpi, namespace: team-a, annotations: {limits: '{\"maxNodes\":1,\"maxGPUs\":2}'}}\nspec: {nodes: ['1', 2]}\n", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := describeDifference(set(t, object), set(t, tc.other)); (err == nil) != tc.equal {
				t.Errorf("describeDifference() = %v, want equal %v", err, tc.equal)
			}
		})
	}
}

// TestCUEGeneratesTheSameObjects compares the objects that `cue export` and trainyard generate for one tenant. For
// example, the test fails if a field of trainyard's policies is renamed, but the constant streamPackage still contains
// the old name.
func TestCUEGeneratesTheSameObjects(t *testing.T) {
	starter, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Rounds: 1, Cases: regexp.MustCompile("^" + caseCUETenant + "$"), Starter: starter, Progress: t.Output()}
	if _, err := Run(options); err != nil {
		t.Error(err)
	}
}

func set(t *testing.T, text string) objectDigests {
	t.Helper()
	var p parser
	found := objectDigests{}
	if err := p.addText(found, "dev", []byte(text)); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCUEVersionMatchesGoMod(t *testing.T) {
	pinned := regexp.MustCompile(`cuelang.org/go (v\S+)`)
	var versions []string
	for _, file := range []string{repo.Path(t, "go.mod"), repo.Path(t, "tools", "cue", "go.mod")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, string(pinned.FindSubmatch(text)[1]))
	}
	if versions[0] != versions[1] {
		t.Errorf("tools/cue pins CUE %s, want %s", versions[1], versions[0])
	}
}

func TestDuplicateObjectsAreRejected(t *testing.T) {
	var p parser
	if err := p.addText(objectDigests{}, "dev", []byte(object+object)); err == nil {
		t.Error("addText() accepts the same object twice, want an error")
	}
}
