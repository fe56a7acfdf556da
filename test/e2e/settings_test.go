//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
)

const countCPUs = `
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
world.allreduce(1)
print(f"rank {world.rank} can use {len(os.sched_getaffinity(0))} CPUs", flush=True)
`

// TestRanksAreNotBoundToCores checks that each rank can use all CPUs. For comparison, the test also runs a changed
// runtime that makes MPI bind each rank to one CPU. MPICH is not tested, because it does not bind ranks by default.
func TestRanksAreNotBoundToCores(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for base, variables := range map[string][]string{
		"openmpi":  {"OMPI_MCA_hwloc_base_binding_policy", "core"},
		"openmpi5": {"PRTE_MCA_hwloc_default_binding_policy", "core"},
		"intel":    {"I_MPI_PIN", "1"},
	} {
		bound := s.changedRuntime(t, base, func(spec *trainer.TrainingRuntimeSpec) {
			setEnv(findContainer(spec, jobs.Launcher, jobs.MainContainer), variables[0], variables[1])
		})
		for name, want := range map[string]int{base: runtime.NumCPU(), bound: 1} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				job := build.MakeTrainJob("cpus", s.makeNamespace(t)).Runtime(name).Nodes(2).ProcPerNode(ranksPerHost).Command("mpirun", "python3", "-c", countCPUs)
				got := s.run(t, job)
				var lines []string
				for rank := range 2 * ranksPerHost {
					lines = append(lines, fmt.Sprintf("rank %d can use %d CPUs", rank, want))
				}
				if !slices.Equal(got.ranks, lines) {
					t.Errorf("ranks print %q, want %q", got.ranks, lines)
				}
			})
		}
	}
}

const printCapabilities = `echo "rank on $(hostname): $(grep CapEff /proc/self/status | cut -f 2)"`

// TestCapabilitiesDoNotReachRanks gives the capability IPC_LOCK to the containers. The ranks must still have no
// capability, because they do not run as root.
func TestCapabilitiesDoNotReachRanks(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	name := s.changedRuntime(t, "openmpi", func(spec *trainer.TrainingRuntimeSpec) {
		for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
			findContainer(spec, role, jobs.MainContainer).SecurityContext.Capabilities.Add = []corev1.Capability{"IPC_LOCK"}
		}
	})
	job := build.MakeTrainJob("caps", s.openNamespace(t)).Runtime(name).Nodes(2).ProcPerNode(1).Command("mpirun", "sh", "-c", printCapabilities)
	want := []string{"rank on caps-launcher-0-0: 0000000000000000", "rank on caps-node-0-0: 0000000000000000"}
	if got := s.run(t, job); !slices.Equal(got.ranks, want) {
		t.Errorf("ranks print %q, want %q", got.ranks, want)
	}
}

const exchangeScript = `
from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range(20):
    world.sendrecv(bytes(1 << 20), dest=world.rank ^ 1, source=world.rank ^ 1)
`

// TestLargeMessagesPrintNoErrors checks that Open MPI 4 prints no errors for large messages. For comparison, the test also
// runs a changed runtime that turns on cross-memory attach (CMA). With CMA, Open MPI 4 prints an error for each message,
// because the seccomp profile forbids the system call process_vm_readv.
func TestLargeMessagesPrintNoErrors(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	withCMA := s.changedRuntime(t, "openmpi", func(spec *trainer.TrainingRuntimeSpec) {
		setEnv(findContainer(spec, jobs.Launcher, jobs.MainContainer), "OMPI_MCA_btl_vader_single_copy_mechanism", "cma")
	})
	for name, wantErrors := range map[string]bool{"openmpi": false, withCMA: true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := s.makeNamespace(t)
			job := build.MakeTrainJob("large", namespace).Runtime(name).Nodes(2).ProcPerNode(ranksPerHost).Command("mpirun", "python3", "-c", exchangeScript)
			if got := s.run(t, job); got.condition != trainer.TrainJobComplete {
				t.Errorf("the job has condition %q, want Complete", got.condition)
			}
			log, err := s.jobs.Log(t.Context(), s.findPod(t, namespace, "large", jobs.Launcher, 0), jobs.MainContainer, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if found := strings.Contains(log, "Read -1"); found != wantErrors {
				t.Errorf("the log contains errors: %t, want %t:\n%.500s", found, wantErrors, log)
			}
		})
	}
}

// TestOpenMPI5StartsAllHosts starts ranks on five hosts. Open MPI 5 runs a daemon on each host. By default, mpirun
// starts all daemons itself only if a job has at most 65 hosts. In a larger job, some daemons must use SSH to start the
// daemons on the remaining hosts. These SSH calls have incorrect arguments, so the larger job fails. With
// PRTE_MCA_plm_ssh_no_tree_spawn=1, mpirun always starts all daemons itself. For comparison, the test also runs a job
// with PRTE_MCA_plm_ssh_no_tree_spawn=0, which must fail. The test reduces PRTE_MCA_routed_radix from 64 to 2, so that
// a job with five hosts is large enough to fail.
func TestOpenMPI5StartsAllHosts(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for noTree, want := range map[string]string{"1": trainer.TrainJobComplete, "0": trainer.TrainJobFailed} {
		name := s.changedRuntime(t, "openmpi5", func(spec *trainer.TrainingRuntimeSpec) {
			launcher := findContainer(spec, jobs.Launcher, jobs.MainContainer)
			setEnv(launcher, "PRTE_MCA_routed_radix", "2")
			setEnv(launcher, "PRTE_MCA_plm_ssh_no_tree_spawn", noTree)
		})
		t.Run("no tree "+noTree, func(t *testing.T) { // not parallel: two jobs of five pods can each wait for CPUs of the other
			job := build.MakeTrainJob("sum", s.makeNamespace(t)).Runtime(name).Nodes(5).ProcPerNode(1).Command("mpirun", "python3", "/opt/allreduce.py")
			if got := s.run(t, job); got.condition != want {
				t.Errorf("the job has condition %q, want %s", got.condition, want)
			}
		})
	}
}

// TestRanksNeedTheStopHook suspends a job of a runtime from which the test removed the preStop hook. Normally, this
// hook sends SIGTERM to the ranks. The test checks that the hook is necessary. Without the hook, the ranks outside the
// launcher get no SIGTERM, and the job saves no checkpoint.
func TestRanksNeedTheStopHook(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	name := s.changedRuntime(t, "openmpi-restarts", func(spec *trainer.TrainingRuntimeSpec) {
		for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
			findContainer(spec, role, jobs.MainContainer).Lifecycle = nil
		}
	})
	i := s.newTraining(t, name)
	i.whenTraining(t, func(jobs.Snapshot) error { return i.suspendAndResume(t) })
	i.expectUndisturbedLosses(t, i.run(t, i.job))
	if signals, err := filepath.Glob(i.outputPath("losses.json.signal.[23]")); err != nil || len(signals) > 0 {
		t.Errorf("ranks of the node got SIGTERM: %v %v", signals, err)
	}
	if _, err := os.Stat(i.outputPath("losses.json.checkpoint")); err == nil {
		t.Error("the ranks saved a checkpoint without the hook")
	}
}
