package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

func TestReadmeNamesTrainersRuntimes(t *testing.T) {
	module, err := upstream.ModuleFolder("trainer-2.3", "github.com/kubeflow/trainer/v2")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(module, "manifests/base/runtimes/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var runtime trainer.ClusterTrainingRuntime
		if err := yaml.Unmarshal(text, &runtime); err != nil {
			t.Fatal(err)
		}
		if policy := runtime.Spec.MLPolicy; policy != nil && policy.MPI != nil {
			found = append(found, "`"+runtime.Name+"`")
		}
	}
	slices.Sort(found)
	readme, err := os.ReadFile(repo.Path(t, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "ships " + map[int]string{2: "two"}[len(found)] + " runtimes that use MPI: " + strings.Join(found, " and ") + "."
	if !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), want) {
		t.Errorf("README.md does not say that Trainer %s", want)
	}
}
