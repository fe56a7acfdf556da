package trainjobsource

import (
	"slices"
	"testing"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// TestKustomizationRuns checks that the TrainJobs of a kustomization run with exactly the values in Git. One of the
// values is a script, which a patch of the kustomization sets.
func TestKustomizationRuns(t *testing.T) {
	l := newLive(t)
	const script = "set -e\n  indented  \n\techo '#'  # end\n"
	l.pushFiles(map[string]string{
		"base/kustomization.yaml": "resources: [bert.yaml]\n",
		"base/bert.yaml":          "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: bert}\nspec:\n  runtimeRef: {name: mpi}\n  trainer: {numNodes: 2, numProcPerNode: 2}\n",
		"kustomization.yaml":      "resources: [base]\npatches:\n- target: {name: bert}\n  patch: |\n    - {op: add, path: /spec/trainer/args, value: [\"set -e\\n  indented  \\n\\techo '#'  # end\\n\"]}\n",
	})
	l.run(l.options())
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)
	l.waitRuns("create", "bert/1 nodes=2")
	if got := l.list()["bert"].Spec.Trainer.Args; !slices.Equal(got, []string{script}) {
		t.Errorf("the arguments are %q, want %q", got, script)
	}
	l.endRun()
	l.pushFile("kustomization.yaml", "resources: [base]\npatches:\n- target: {name: bert}\n  patch: '- {op: replace, path: /spec/trainer/numNodes, value: 3}'\n")
	l.sync()
	l.waitRuns("another patch", "bert/1 nodes=2", "bert/2 nodes=3")
}

func TestScriptsStayAsTheyAre(t *testing.T) {
	l := newLive(t)
	const script = "set -e\n\n  indented  \nif true; then\n\techo '#'  # end\nfi\n"
	l.pushFile("bert.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: bert}\nspec:\n  runtimeRef: {name: mpi}\n  trainer:\n    numNodes: 2\n    args:\n    - |\n      set -e\n\n        indented  \n      if true; then\n      \techo '#'  # end\n      fi\n")
	l.run(l.options())
	l.create()
	l.waitRuns("create", "bert/1 nodes=2")
	if got := l.list()["bert"].Spec.Trainer.Args; !slices.Equal(got, []string{script}) {
		t.Errorf("the arguments are %q, want %q", got, script)
	}
}
