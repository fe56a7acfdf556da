//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
)

// printThreads prints OMP_NUM_THREADS, which is the number of threads that libraries start in a rank.
const printThreads = `
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
world.allreduce(1)
print("rank", world.rank, "gets", os.environ.get("OMP_NUM_THREADS"), "threads", flush=True)
`

// launchVariables lists environment variables of the launcher for each MPI implementation. Because of these variables,
// mpirun calls a script before the ranks in the launcher start. The script is a part of the runtime. If neither the
// document nor the TrainJob sets OMP_NUM_THREADS, the script sets this variable.
var launchVariables = map[string][]string{
	"openmpi":  {"OMPI_MCA_orte_fork_agent"},
	"openmpi5": {"OMPI_PRTERUN"},
	"mpich":    {"HYDRA_LAUNCHER_EXEC", "HYDRA_LAUNCHER_AUTOFORK"},
	"intel":    {"I_MPI_HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_BOOTSTRAP_AUTOFORK"},
}

// TestRanksShareTheCPUsOfTheirPod checks that the threads of all ranks in a pod add up to the pod's CPU limit, on
// the launcher and on the nodes. If the TrainJob sets OMP_NUM_THREADS, ranks must get this value. The test also
// runs a changed runtime without the scripts that set OMP_NUM_THREADS. The ranks of this runtime must not have
// the variable.
func TestRanksShareTheCPUsOfTheirPod(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for mpi, variables := range launchVariables {
		without := s.changedRuntime(t, mpi, func(spec *trainer.TrainingRuntimeSpec) {
			launcher := findContainer(spec, jobs.Launcher, jobs.MainContainer)
			launcher.Env = slices.DeleteFunc(launcher.Env, func(v corev1.EnvVar) bool { return slices.Contains(variables, v.Name) })
			for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
				rewrite(t, findContainer(spec, role, "identity"), " . /mpi-run/threads; exec", " exec")
			}
		})
		for name, tc := range map[string]struct {
			runtime string
			procs   int32
			own     string // OMP_NUM_THREADS of the TrainJob
			threads string
		}{
			"one rank for two CPUs":            {runtime: mpi, procs: 1, threads: "2"},
			"a rank for each CPU":              {runtime: mpi, procs: 2, threads: "1"},
			"the TrainJob's value":             {runtime: mpi, procs: 2, own: "7", threads: "7"},
			"without the scripts of a runtime": {runtime: without, procs: 2, threads: "None"},
		} {
			t.Run(mpi+" "+name, func(t *testing.T) {
				t.Parallel()
				job := build.MakeTrainJob("threads", s.makeNamespace(t)).Runtime(tc.runtime).Nodes(2).ProcPerNode(tc.procs).Limit(corev1.ResourceCPU, "2")
				if tc.own != "" {
					job.Env("OMP_NUM_THREADS", tc.own)
				}
				got := s.run(t, job.Command("mpirun", "python3", "-c", printThreads))
				var lines []string
				for rank := range 2 * tc.procs {
					lines = append(lines, fmt.Sprintf("rank %d gets %s threads", rank, tc.threads))
				}
				if !slices.Equal(got.ranks, lines) {
					t.Errorf("ranks print %q, want %q", got.ranks, lines)
				}
			})
		}
	}
}
