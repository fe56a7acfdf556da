package controlplane_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/vet/trainjob"
	"github.com/trainyard/trainyard/test/controlplane"
)

const trainJobWithField = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: values}
spec:
  runtimeRef: {name: north-mpi}
  FIELD
`

// TestVetReadsYAMLLikeKubectl checks that `trainyard vet` admits exactly the TrainJobs that kubectl can create. The
// test uses values such as `yes`, which have different types in different versions of YAML.
func TestVetReadsYAMLLikeKubectl(t *testing.T) {
	cp := controlplane.Start(t, controlplane.CRDsOnly())
	text := strings.ReplaceAll(onePlatform, "NAME", "north")
	request := generator.Request{Layers: []generator.Input{{Name: "north.yaml", Text: []byte(text)}}}
	platforms, err := trainjob.Platforms(t.Context(), generator.New(trainyard.CUE), request)
	if err != nil {
		t.Fatal(err)
	}
	namespace := cp.Namespace(t)
	admitted := map[bool]int{}
	for _, field := range []string{
		"suspend: yes", "suspend: y", "suspend: on", "suspend: Off", "suspend: tRue", "suspend: 'yes'", "suspend: 1",
		"trainer: {numNodes: 02}", "trainer: {numNodes: 0x2}", "trainer: {numNodes: 2.0}", "trainer: {numNodes: '2'}", "trainer: {numNodes: 2.5}", "trainer: {numNodes: 0_2}",
		"trainer: {command: [no]}", "trainer: {command: [1:30]}", "trainer: {command: [2026-01-31]}", "trainer: {env: [{name: OVERLAP, value: on}]}", "trainer: {env: [{name: y, value: n}]}",
		"trainer: {env: [{name: 'y', value: ~}]}",
	} {
		text := strings.Replace(trainJobWithField, "FIELD", field, 1)
		found, err := trainjob.Vet("job.yaml", []byte(text), "north-team", platforms)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(cp.Tool("kubectl"), "--kubeconfig", cp.Kubeconfig(), "-n", namespace, "create", "--dry-run=server", "-f", file).CombinedOutput()
		admitted[err == nil]++
		if (err == nil) != (len(found.Invalid) == 0) {
			t.Errorf("%s: kubectl returns %s, vet returns %v", field, out, found.Invalid)
		}
	}
	if admitted[true] == 0 || admitted[false] == 0 {
		t.Errorf("kubectl admits %v, want some TrainJobs admitted and some refused", admitted)
	}
}
