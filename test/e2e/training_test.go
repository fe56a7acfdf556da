//go:build linux

package e2e

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/images"
)

// TestFourRanksTrainLikeOneProcess checks that a training with four ranks has the same results as a training with one
// rank. The results are equal only if every step uses the gradients of all ranks.
func TestFourRanksTrainLikeOneProcess(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	s.expectEqualTraining(t, "training", "/opt/train.py")
}

func TestHorovodTrainsLikeOneProcess(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	if os.Getenv("TRAINYARD_HOROVOD") == "" {
		t.Skip("needs an image with Horovod, which takes ten minutes to compile: run `make e2e-horovod`")
	}
	s.expectEqualTraining(t, "horovod", "/opt/train_horovod.py")
}

func (s *sandbox) expectEqualTraining(t *testing.T, runtime, program string) {
	t.Helper()
	namespace := s.makeNamespace(t)
	s.claim(t, namespace)
	train := func(name string, command ...string) images.TrainingResult {
		out := "/mnt/results/" + name + ".json"
		job := build.MakeTrainJob(name, namespace).Runtime(runtime).Nodes(2).ProcPerNode(ranksPerHost).Command(append(command, "--out", out)...)
		if got := s.run(t, job); got.condition != trainer.TrainJobComplete {
			t.Fatalf("training %s has condition %q", name, got.condition)
		}
		return s.readResult(t, namespace, name)
	}
	single := train("single", "mpirun", "-np", "1", "python3", program)
	parallel := train("parallel", "mpirun", "python3", program)
	if len(single.Hosts) != 1 || len(parallel.Hosts) != 2*ranksPerHost || parallel.Hosts[0] == parallel.Hosts[2*ranksPerHost-1] {
		t.Errorf("ranks ran on %v and %v, want one rank, and four ranks on two hosts", single.Hosts, parallel.Hosts)
	}
	expectClose(t, "losses", single.Losses, parallel.Losses)
	expectClose(t, "parameters", single.Parameters, parallel.Parameters)
	if first, last := single.Losses[0], single.Losses[len(single.Losses)-1]; last > first/2 {
		t.Errorf("the loss went from %g to %g, want at most half", first, last)
	}
}

func (s *sandbox) readResult(t *testing.T, namespace, name string) images.TrainingResult {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "volumes", namespace, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var result images.TrainingResult
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func expectClose(t *testing.T, what string, want, got []float64) {
	t.Helper()
	if len(want) == 0 || len(want) != len(got) {
		t.Fatalf("got %d and %d %s, want equal numbers", len(want), len(got), what)
	}
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(got[i]-want[i])/math.Max(math.Abs(want[i]), 1e-3))
	}
	t.Logf("%s differ by at most %.1e, relatively", what, worst)
	if worst > images.Tolerance {
		t.Errorf("%s differ by %.1e, relatively, want at most %.0e", what, worst, images.Tolerance)
	}
}

func TestUnevenDataFailsTheTrainJob(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	namespace := s.makeNamespace(t)
	s.claim(t, namespace)
	job := build.MakeTrainJob("uneven", namespace).Runtime("training").Nodes(2).ProcPerNode(ranksPerHost).
		Command("mpirun", "python3", "/opt/train.py", "--samples", "10")
	if got := s.run(t, job); got.condition != trainer.TrainJobFailed {
		t.Errorf("the job has condition %q, want Failed", got.condition)
	}
}
