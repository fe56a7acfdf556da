//go:build linux

package e2e

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
)

// leavingRank is a program for four ranks. Tests replace the word LEAVE by a statement that ends the last rank while
// the other ranks still run.
const leavingRank = `
import os, signal, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
world.barrier()
print("rank", world.rank, "is ready", flush=True)
if world.rank == 3:
    LEAVE
world.barrier()
`

// hangTime is the time after which a test decides that a job hangs. A job that does not hang ends within a few seconds.
const hangTime = 25 * time.Second

// TestRanksThatLeaveEndTheJob checks whether a job fails or hangs after one rank has ended before the others. The
// table in docs/checkpoints.md contains the expected results. With MPICH, a job sometimes hangs after a rank calls
// os._exit, so the test skips this combination.
func TestRanksThatLeaveEndTheJob(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for name, tc := range map[string]struct {
		python, leave string
		hangs         bool
		except        string // a runtime for which both results occur
	}{
		"an exception with mpi4py":  {python: "-m mpi4py", leave: "raise RuntimeError"},
		"an exception":              {leave: "raise RuntimeError", hangs: true},
		"sys.exit with mpi4py":      {python: "-m mpi4py", leave: "sys.exit(3)"},
		"os._exit":                  {python: "-m mpi4py", leave: "os._exit(3)", except: "mpich-restarts"},
		"the kernel kills the rank": {python: "-m mpi4py", leave: "os.kill(os.getpid(), signal.SIGKILL)"},
	} {
		for _, runtime := range restartingRuntimes {
			if runtime == tc.except {
				continue
			}
			t.Run(runtime+" "+name, func(t *testing.T) {
				t.Parallel()
				namespace := s.makeNamespace(t)
				s.claim(t, namespace)
				program := strings.Replace(leavingRank, "LEAVE", tc.leave, 1)
				script := "mpirun python3 " + tc.python + " -c \"$0\"; code=$?; echo $code > /mnt/results/code; exit $code"
				job := build.MakeTrainJob("leave", namespace).Runtime(runtime).Nodes(2).ProcPerNode(ranksPerHost).Command("sh", "-c", script, program)
				if code := s.exitCode(t, job); code == "0" || (code == "") != tc.hangs {
					t.Errorf("mpirun ends with %q, want that it hangs: %t", code, tc.hangs)
				}
			})
		}
	}
}

// exitCode runs a job, and returns the exit code of mpirun. If the job hangs, exitCode returns an empty string.
func (s *sandbox) exitCode(t *testing.T, job *build.TrainJob) string {
	t.Helper()
	obj := job.Obj()
	i := interruptedTraining{s, obj.Namespace, job}
	ctx, cancel := context.WithTimeoutCause(t.Context(), jobTimeout, errors.New("the ranks do not start"))
	defer cancel()
	if err := s.client.Create(ctx, obj); err != nil {
		t.Fatal(err)
	}
	var ready time.Time
	err := s.jobs.Wait(ctx, client.ObjectKeyFromObject(obj), func(snapshot jobs.Snapshot) (bool, error) {
		for _, launcher := range snapshot.PodsOf(jobs.Launcher) {
			if log, err := s.jobs.Log(ctx, launcher, jobs.MainContainer, 100); ready.IsZero() && err == nil && strings.Contains(log, "is ready") {
				ready = time.Now()
				time.AfterFunc(hangTime, cancel)
			}
		}
		return snapshot.Outcome().Condition == trainer.TrainJobFailed, nil
	})
	if err != nil && ready.IsZero() {
		t.Fatalf("%v: %v\n%s", err, context.Cause(ctx), s.describeNamespace(obj.Namespace))
	}
	code, err := os.ReadFile(i.outputPath("code"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(code))
}
