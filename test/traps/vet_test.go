package traps

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/problem"
	runtimevet "github.com/trainyard/trainyard/generator/vet/runtime"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// launcherNode is the path of the container "node" of the launcher. Each of the other constants is a note that the
// function Vet reports for some runtimes of Kubeflow Trainer. Some of these notes contain the path launcherNode.
const (
	noFramework   = `missing-framework-label at metadata.labels."trainer.kubeflow.org/framework"`
	launcherNode  = "spec.template.spec.replicatedJobs.launcher.template.spec.template.spec.containers.node"
	hostfileUnset = "open-mpi-5-hostfile at " + launcherNode + ".env"
	sharedCore    = "shared-core at " + launcherNode + ".env"
	// oldTorch is the note for runtimes with a field that Trainer 2.2 removed.
	oldTorch = "unknown-field at spec.mlPolicy.torch.numProcPerNode"
)

// TestVetUpstreamRuntimes calls the function Vet for the runtimes that Kubeflow Trainer ships. Vet can report two kinds
// of findings: problems and notes. For these runtimes, Vet must report no problems, and exactly the notes that this
// test lists. The test reads the runtimes of each version of Trainer from the Go module that tools/trainer-VERSION
// pins.
func TestVetUpstreamRuntimes(t *testing.T) {
	latest := map[string][]string{
		"data-cache/torch_distributed_with_cache.yaml": nil,
		"deepspeed_distributed.yaml":                   {hostfileUnset, sharedCore},
		"jax_distributed.yaml":                         nil,
		"mlx_distributed.yaml":                         {hostfileUnset, sharedCore},
		"torch_distributed.yaml":                       nil,
		"torchtune/llama3_2/llama3_2_1B.yaml":          nil,
		"torchtune/llama3_2/llama3_2_3B.yaml":          nil,
		"torchtune/qwen2_5/qwen2_5_1.5B.yaml":          nil,
		"xgboost_distributed.yaml":                     nil,
	}
	cases := map[string]map[string][]string{
		"2.0": {
			"deepspeed_distributed.yaml":          {noFramework, hostfileUnset, sharedCore},
			"mlx_distributed.yaml":                {noFramework, hostfileUnset, sharedCore},
			"mpi_distributed.yaml":                {noFramework, hostfileUnset, sharedCore, "inherited-launcher-args at " + launcherNode + ".args"},
			"torch_distributed.yaml":              {noFramework, oldTorch},
			"torchtune/llama3_2/llama3_2_1B.yaml": {noFramework, oldTorch},
			"torchtune/llama3_2/llama3_2_3B.yaml": {noFramework, oldTorch},
		},
		"2.1": {
			"data-cache/torch_distributed_with_cache.yaml": {oldTorch},
			"deepspeed_distributed.yaml":                   {hostfileUnset, sharedCore},
			"mlx_distributed.yaml":                         {hostfileUnset, sharedCore},
			"torch_distributed.yaml":                       {oldTorch},
			"torchtune/llama3_2/llama3_2_1B.yaml":          {oldTorch},
			"torchtune/llama3_2/llama3_2_3B.yaml":          {oldTorch},
			"torchtune/qwen2_5/qwen2_5_1.5B.yaml":          {oldTorch},
		},
		"2.2": latest,
		"2.3": latest,
	}
	for version, want := range cases {
		t.Run(version, func(t *testing.T) {
			dir := filepath.Join(trainerModule(t, version), "manifests", "base", "runtimes")
			got := map[string][]string{}
			for _, file := range yamlBelow(t, dir) {
				report := vet(t, filepath.Join(dir, file))
				if len(report.Problems) > 0 {
					t.Errorf("%s has problems:\n%v", file, report.Problems)
				}
				if report.Runtimes > 0 {
					got[file] = listTraps(report.Notes)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("notes by file: -want +got:\n%s", diff)
			}
		})
	}
}

// TestVetGeneratedRuntimes checks that generated runtimes have neither problems nor notes.
func TestVetGeneratedRuntimes(t *testing.T) {
	read := 0
	for _, file := range repo.Files(t) {
		if !strings.HasPrefix(file, "bundles/rendered/") || path.Base(file) != "manifests.yaml" {
			continue
		}
		report := vet(t, repo.Path(t, file))
		read += report.Runtimes
		for _, p := range append(report.Problems, report.Notes...) {
			t.Errorf("%s", p)
		}
	}
	if read < 15 {
		t.Errorf("read %d runtimes, want at least 15", read)
	}
}

func vet(t *testing.T, file string) runtimevet.Report {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report, err := runtimevet.Vet(file, text)
	if err != nil {
		t.Fatalf("vetting: %v", err)
	}
	if got := runtimevet.IsRuntimeFile(file, text); got != (report.Runtimes > 0) {
		t.Errorf("IsRuntimeFile(%s) = %v, but Vet finds %d runtimes", file, got, report.Runtimes)
	}
	return report
}

func listTraps(list problem.List) []string {
	var all []string
	for _, p := range list {
		trap, _, _ := strings.Cut(p.Message, ":")
		all = append(all, trap+" at "+p.Path)
	}
	return all
}

func trainerModule(t *testing.T, version string) string {
	t.Helper()
	dir, err := upstream.ModuleFolder("trainer-"+version, "github.com/kubeflow/trainer/v2")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func yamlBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".yaml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("listing %s: %v", dir, err)
	}
	return files
}
