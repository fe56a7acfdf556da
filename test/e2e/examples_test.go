//go:build linux

package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/repo"
)

// TestExampleJobs runs three jobs of examples/jobs in pods, with runtimes of examples/vanilla. The layer
// testdata/examples.yaml makes the pods of the runtimes smaller. The layer also replaces the container images of the
// runtimes with images that the test cluster already contains. In addition, the layer sets "oversubscribe", because
// this machine has fewer cores than the jobs have ranks. The test does not run the jobs gpu.yaml, which needs GPUs, and
// volcano.yaml, which needs Volcano.
func TestExampleJobs(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	s.createExampleRuntimes(t, "mpi-openmpi-cpu", "mpi-intel-cpu")
	for name, test := range map[string]struct {
		change func(*trainer.TrainJob)
		line   string // a pattern of the line that each rank prints
		ranks  int
	}{
		"simple":     {func(*trainer.TrainJob) {}, `(?m)^simple-(launcher|node)-0-0$`, 8},
		"restricted": {func(*trainer.TrainJob) {}, `(?m)^1000$`, 8},
		// The TrainJob "intel" runs the command hostname, because its container image in testdata/examples.yaml does
		// not contain the benchmark that the example runs.
		"intel": {func(job *trainer.TrainJob) {
			job.Spec.Trainer.Command = []string{"mpirun", "-n", "16", "hostname"}
			job.Spec.Trainer.ResourcesPerNode = nil // four nodes with four CPUs each do not fit on this machine
		}, `(?m)^intel-(launcher-0-0|node-0-[0-2])$`, 16},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := s.applyExample(t, "examples/jobs/"+name+".yaml")
			test.change(job)
			if got := s.run(t, build.CopyTrainJob(job)); got.condition != trainer.TrainJobComplete {
				t.Fatalf("the job has condition %q, want Complete", got.condition)
			}
			log, err := s.jobs.Log(t.Context(), s.findPod(t, job.Namespace, job.Name, jobs.Launcher, 0), jobs.MainContainer, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if lines := len(regexp.MustCompile(test.line).FindAllString(log, -1)); lines != test.ranks {
				t.Errorf("%d lines match %s, want one for each of %d ranks:\n%s", lines, test.line, test.ranks, log)
			}
		})
	}
}

func (s *sandbox) createExampleRuntimes(t *testing.T, names ...string) {
	t.Helper()
	generated, err := s.generate(t.Context(), "examples/vanilla/platform.yaml", "test/e2e/testdata/examples.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var runtime trainer.ClusterTrainingRuntime
		for _, text := range strings.Split(generated, "\n---\n") {
			if strings.Contains(text, "kind: ClusterTrainingRuntime\n") && strings.Contains(text, "\n  name: "+name+"\n") {
				if err := yaml.UnmarshalStrict([]byte(text), &runtime); err != nil {
					t.Fatal(err)
				}
			}
		}
		if runtime.Name != name {
			t.Fatalf("examples/vanilla has no cluster-wide runtime %s", name)
		}
		if err := s.client.Create(t.Context(), &runtime); err != nil {
			t.Fatalf("creating the runtime %s: %v", name, err)
		}
		t.Cleanup(func() { _, _ = s.runKubectl("", "delete", "clustertrainingruntime", name, "--wait=false") })
	}
}

// applyExample applies all objects of a file except the TrainJob, and returns the TrainJob.
func (s *sandbox) applyExample(t *testing.T, file string) *trainer.TrainJob {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, file))
	if err != nil {
		t.Fatal(err)
	}
	job := &trainer.TrainJob{}
	for _, object := range strings.Split(string(text), "\n---\n") {
		if strings.Contains(object, "kind: TrainJob\n") {
			if err := yaml.UnmarshalStrict([]byte(object), job); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			continue
		}
		if out, err := s.runKubectl(object, "apply", "-f", "-"); err != nil {
			t.Fatalf("%s: %v: %s", file, err, out)
		}
		t.Cleanup(func() { _, _ = s.runKubectl(object, "delete", "--wait=false", "-f", "-") })
	}
	return job
}
