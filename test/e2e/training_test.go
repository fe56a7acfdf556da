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
	"github.com/trainyard/trainyard/test/repo"
)

// tolerance is the relative difference that the order of additions may make to a loss in
// double precision (test/images/train.py says why). A lost gradient makes over a hundredth.
const tolerance = 1e-9

// learnt is what a training leaves.
type learnt struct {
	Hosts      []string
	Losses     []float64
	Parameters []float64
}

// TestFourRanksLearnWhatOneProcessLearns: gradients of all ranks count, in every step (SC-007).
func TestFourRanksLearnWhatOneProcessLearns(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.expectLearnt(t, "training", "/opt/train.py")
}

// TestHorovodLearnsTheSame, with its own optimizer and its own allreduce.
func TestHorovodLearnsTheSame(t *testing.T) {
	t.Parallel()
	s := start(t)
	if _, err := os.Stat(repo.Path(t, ".tools", "images", "horovod.tar")); err != nil {
		t.Skip("Horovod takes ten minutes to compile: run `make images-horovod` first")
	}
	s.expectLearnt(t, "horovod", "/opt/train_horovod.py")
}

// expectLearnt trains alone and with four ranks, and compares what was learnt.
func (s *sandbox) expectLearnt(t *testing.T, runtime, program string) {
	t.Helper()
	namespace := s.namespace(t)
	s.claim(t, namespace, "results")
	train := func(name string, command ...string) learnt {
		out := "/mnt/results/" + name + ".json"
		job := build.MakeTrainJob(name, namespace).Runtime(runtime).Nodes(2).ProcPerNode(procs).Command(append(command, "--out", out)...)
		if got := s.finish(t, job); got.condition != trainer.TrainJobComplete {
			t.Fatalf("training %s is %s", name, got.condition)
		}
		return s.readLearnt(t, namespace, name)
	}
	alone := train("alone", "mpirun", "-np", "1", "python3", program)
	together := train("together", "mpirun", "python3", program)
	if len(alone.Hosts) != 1 || len(together.Hosts) != 2*procs || together.Hosts[0] == together.Hosts[2*procs-1] {
		t.Errorf("ranks ran on %v and %v, want one, and four on two hosts", alone.Hosts, together.Hosts)
	}
	expectClose(t, "losses", alone.Losses, together.Losses)
	expectClose(t, "parameters", alone.Parameters, together.Parameters)
	if first, last := alone.Losses[0], alone.Losses[len(alone.Losses)-1]; last > first/2 {
		t.Errorf("the loss went from %g to %g: nothing was learnt", first, last)
	}
}

// readLearnt reads from the volume what a job wrote there.
func (s *sandbox) readLearnt(t *testing.T, namespace, name string) learnt {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "volumes", namespace, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var read learnt
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func expectClose(t *testing.T, what string, want, got []float64) {
	t.Helper()
	if len(want) == 0 || len(want) != len(got) {
		t.Fatalf("%d and %d %s", len(want), len(got), what)
	}
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(got[i]-want[i])/math.Max(math.Abs(want[i]), 1e-3))
	}
	t.Logf("%s differ by at most %.1e of their size", what, worst)
	if worst > tolerance {
		t.Errorf("%s differ by %.1e of their size, want at most %.0e", what, worst, tolerance)
	}
}

// TestTrainingThatCannotShareItsDataFails: what a program says with its exit code reaches the TrainJob.
func TestTrainingThatCannotShareItsDataFails(t *testing.T) {
	t.Parallel()
	s := start(t)
	namespace := s.namespace(t)
	s.claim(t, namespace, "results")
	job := build.MakeTrainJob("uneven", namespace).Runtime("training").Nodes(2).ProcPerNode(procs).
		Command("mpirun", "python3", "/opt/train.py", "--samples", "10")
	if got := s.finish(t, job); got.condition != trainer.TrainJobFailed {
		t.Errorf("the job is %s, want Failed", got.condition)
	}
}
