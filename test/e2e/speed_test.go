//go:build linux

package e2e

import (
	_ "embed"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/bench"
	"github.com/trainyard/trainyard/test/build"
)

// speedProgram measures how much time MPI needs for messages of several sizes between two ranks, and for an allreduce.
//
//go:embed testdata/speed.py
var speedProgram string

// plainCommands contains, for each MPI implementation, two mpirun commands that do not use trainyard's settings. The
// first command runs two ranks in one pod, and the second command runs ranks in two pods. The commands contain only the
// number of ranks, options for hosts, and necessary settings. The necessary settings let the ranks start and connect.
// In addition, the necessary settings keep MPI from binding all ranks to the same core. For some implementations, the
// necessary settings also turn off cross-memory attach (CMA), because the seccomp profile forbids CMA. With CMA, a rank
// reads the memory of another rank. The commands for Horovod run only Open MPI, without Horovod. There are two reasons:
// Horovod itself uses Open MPI, and the image does not contain Horovod.
var plainCommands = map[string][2]string{
	"openmpi": {
		"mpirun --bind-to none --mca btl_vader_single_copy_mechanism none --host localhost:2 -np 2",
		"mpirun --bind-to none --mca btl_vader_single_copy_mechanism none --hostfile /etc/mpi/hostfile --mca orte_keep_fqdn_hostnames 1 -np 2",
	},
	"openmpi5": {
		"mpirun --bind-to none --host localhost:2 -np 2",
		"mpirun --bind-to none --hostfile /etc/mpi/hostfile -np 2",
	},
	"horovod": {
		"mpirun --bind-to none --mca btl_vader_single_copy_mechanism none --host localhost:2 -np 2",
		"mpirun --bind-to none --mca btl_vader_single_copy_mechanism none --hostfile /etc/mpi/hostfile --mca orte_keep_fqdn_hostnames 1 -np 2",
	},
	"mpich": {
		"MPIR_CVAR_CH4_CMA_ENABLE=0 mpirun -np 2",
		"MPIR_CVAR_CH4_CMA_ENABLE=0 mpirun -f /mpi-run/hostfile -iface eth0 -np 2",
	},
	"intel": {
		"I_MPI_PIN=0 mpirun -np 2",
		"I_MPI_PIN=0 FI_PROVIDER=tcp I_MPI_PERHOST=1 mpirun -f /mpi-run/hostfile -iface eth0 -np 2",
	},
}

// onlyImageVariables is the beginning of a shell command. The program that the command runs gets only the variable HOME
// and the environment variables that the image sets. It does not get the environment variables that contain the
// runtime's settings of MPI.
const onlyImageVariables = `env -i PATH="$PATH" HOME="$HOME" LD_LIBRARY_PATH="$LD_LIBRARY_PATH" PYTHONPATH="$PYTHONPATH" I_MPI_ROOT="$I_MPI_ROOT"`

// speedRounds is the number of times that measureMessages measures each mpirun command. pairRounds is the number
// of times that measurePairs makes each of its measurements.
const (
	speedRounds = 7
	pairRounds  = 2
)

// BenchmarkMPI measures the speed of MPI in one pod and in two pods, and the speed of two TrainJobs that run at the same
// time.
func BenchmarkMPI(b *testing.B) {
	if sharedCluster == nil {
		b.Skip("needs a cluster with real pods, which only root can start: run `make bench-mpi`")
	}
	s := sharedCluster
	generated, err := s.generate(b.Context(), "test/e2e/testdata/speed.yaml")
	if err != nil {
		b.Fatal(err)
	}
	if out, err := s.runKubectl(generated, "apply", "--server-side", "-f", "-"); err != nil {
		b.Fatalf("applying the generated objects: %v: %s", err, out)
	}
	for b.Loop() {
		report := bench.NewMPIReport(s.dir)
		for _, mpi := range []string{"openmpi", "horovod", "openmpi5", "mpich", "intel"} {
			report.Figures = append(report.Figures, s.measureMessages(b, mpi, "one pod", mpi+"-speed-separate", 1, 2, plainCommands[mpi][0])...)
			report.Figures = append(report.Figures, s.measureMessages(b, mpi, "two pods", mpi+"-speed", 2, 1, plainCommands[mpi][1])...)
			if mpi != "horovod" { // Horovod uses Open MPI
				report.Pairs = append(report.Pairs, s.measurePairs(b, mpi)...)
			}
		}
		_, _ = fmt.Fprint(os.Stdout, report.Markdown())
		if docs := os.Getenv("BENCH_MPI_DOCS"); docs != "" {
			if err := report.UpdateDocs(docs); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// measureMessages runs one TrainJob. The launcher of the TrainJob alternately measures two commands.
// The first command is mpirun with the settings of the runtime. The second command is the mpirun
// command in the argument "plain", which runs without these settings.
func (s *sandbox) measureMessages(b *testing.B, mpi, place, runtime string, nodes, procs int32, plain string) []bench.MPIFigure {
	b.Helper()
	const script = `
for round in $(seq "$2"); do
  echo TrainJob
  mpirun python3 -c "$0"
  echo plain
  ` + onlyImageVariables + ` sh -c "$1 python3 -c '$0'"
done`
	job := build.MakeTrainJob("speed", s.makeNamespace(b)).Runtime(runtime).Nodes(nodes).ProcPerNode(procs).
		Command("sh", "-c", script, speedProgram, plain, strconv.Itoa(speedRounds))
	var figures []bench.MPIFigure
	index, kind := map[string]int{}, ""
	for line := range strings.Lines(s.logOf(b, job)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "figure" {
			kind = word
			continue
		}
		number, name, _ := strings.Cut(rest, " ")
		microseconds, err := strconv.ParseFloat(number, 64)
		if err != nil {
			b.Fatal(err)
		}
		if _, known := index[name]; !known {
			index[name] = len(figures)
			figures = append(figures, bench.MPIFigure{MPI: mpi, Place: place, Name: name})
		}
		f := &figures[index[name]]
		if kind == "plain" {
			f.Plain = append(f.Plain, microseconds)
		} else {
			f.TrainJob = append(f.TrainJob, microseconds)
		}
	}
	for _, f := range figures {
		if len(f.TrainJob) != speedRounds || len(f.Plain) != speedRounds {
			b.Fatalf("%s, %s, %s: %d and %d measurements, want %d each", mpi, place, f.Name, len(f.TrainJob), len(f.Plain), speedRounds)
		}
	}
	return figures
}

func (s *sandbox) logOf(b *testing.B, job *build.TrainJob) string {
	b.Helper()
	if got := s.run(b, job); got.condition != trainer.TrainJobComplete {
		b.Fatalf("the job has condition %q, want Complete", got.condition)
	}
	obj := job.Obj()
	log, err := s.jobs.Log(b.Context(), s.findPod(b, obj.Namespace, obj.Name, jobs.Launcher, 0), jobs.MainContainer, 10000)
	if err != nil {
		b.Fatal(err)
	}
	return log
}

// stepsProgram runs 400 steps. In each step, every rank computes for five milliseconds, and then the job computes a sum
// to which each rank contributes one number (an allreduce). The ranks of all jobs begin at the same time.
const stepsProgram = `
import os, sys, time
from mpi4py import MPI
world, folder, count = MPI.COMM_WORLD, sys.argv[3], int(sys.argv[2])
open(f"{folder}/{sys.argv[1]}.{world.rank}", "w").close()
while len(os.listdir(folder)) < count:
    time.sleep(0.01)
world.barrier()
start = time.perf_counter()
for _ in range(400):
    used = time.thread_time()
    while time.thread_time() - used < 0.005:
        pass
    world.allreduce(1.0)
if world.rank == 0:
    print(f"figure {time.perf_counter() - start:.3f} seconds", flush=True)
`

// measurePairs compares one TrainJob that runs alone with two TrainJobs that run at the same time. The measurements run
// on a machine with two cores. In the first measurements, each TrainJob has one pod with one rank, so that each rank
// has a core of its own. In the other measurements, each TrainJob has two pods with one rank each, and the runtime has
// the setting "oversubscribe". If both TrainJobs run at the same time, their four ranks share the two cores.
//
// measurePairs makes every measurement both with and without the MPI settings of the runtime. Each measurement first
// uses TrainJobs that run mpirun with these settings. The measurement then uses TrainJobs of the same runtime that run
// mpirun without these settings. plainCommands contains two commands for each MPI implementation. measurePairs uses the
// second command, and adapts the number of ranks in this command. If ranks share the cores, this command also sets the
// variables in yieldVariables. Two TrainJobs that run at the same time can slow each other down. If this slowdown is
// the same with and without the MPI settings of the runtime, these settings are not the cause. The control plane can
// also slow down a TrainJob. The reason is that the control plane and the TrainJobs share the two cores of the machine.
func (s *sandbox) measurePairs(b *testing.B, mpi string) []bench.MPIPair {
	b.Helper()
	var pairs []bench.MPIPair
	for i, base := range []string{mpi + "-speed-core", mpi + "-speed-shared"} {
		runtime := s.changedRuntime(b, base, requestLittle)
		ranks := i + 1
		plain := strings.TrimSuffix(plainCommands[mpi][1], "2") + strconv.Itoa(ranks)
		if ranks > 1 {
			plain = yieldVariables + plain
		}
		pair := bench.MPIPair{MPI: mpi, Ranks: ranks}
		for range pairRounds {
			pair.Alone = append(pair.Alone, s.measureSteps(b, runtime, "", ranks, "one"))
			pair.PlainAlone = append(pair.PlainAlone, s.measureSteps(b, runtime, plain, ranks, "one"))
			pair.Together = append(pair.Together, s.measureSteps(b, runtime, "", ranks, "one", "two"))
			pair.PlainTogether = append(pair.PlainTogether, s.measureSteps(b, runtime, plain, ranks, "one", "two"))
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// yieldVariables contains the environment variables that tell waiting ranks to give up their CPU core.
// With the setting "oversubscribe", a runtime of Open MPI sets the first variable, and a runtime of
// Intel MPI sets the second variable.
const yieldVariables = "OMPI_MCA_mpi_yield_when_idle=1 I_MPI_THREAD_YIELD=2 "

// measureSteps creates one TrainJob for each of the given names, with the given number of ranks. All TrainJobs run
// stepsProgram at the same time. measureSteps returns the duration in seconds of the slowest TrainJob. The argument
// "plain" contains an mpirun command, or is empty. If "plain" is not empty, the TrainJobs run this mpirun command,
// without the environment variables of the runtime.
func (s *sandbox) measureSteps(b *testing.B, runtime, plain string, ranks int, names ...string) float64 {
	b.Helper()
	namespace := s.makeNamespace(b)
	s.claim(b, namespace)
	seconds := make(chan float64, len(names))
	for _, name := range names {
		files := strconv.Itoa(ranks * len(names))
		job := build.MakeTrainJob(name, namespace).Runtime(runtime).Nodes(int32(ranks)).ProcPerNode(1)
		if plain == "" {
			job = job.Command("mpirun", "python3", "-c", stepsProgram, name, files, "/mnt/results")
		} else {
			job = job.Command("sh", "-c", onlyImageVariables+` sh -c "$0 python3 -c '$1' $2 $3 /mnt/results"`, plain, stepsProgram, name, files)
		}
		go func() {
			took := 0.0
			defer func() { seconds <- took }() // even if logOf fails, which ends the goroutine
			_, figure, _ := strings.Cut(s.logOf(b, job), "figure ")
			number, _, _ := strings.Cut(figure, " ")
			var err error
			if took, err = strconv.ParseFloat(number, 64); err != nil {
				b.Errorf("the log of %s contains no figure: %v", job.Obj().Name, err)
			}
		}()
	}
	longest := 0.0
	for range names {
		longest = max(longest, <-seconds)
	}
	if b.Failed() {
		b.FailNow()
	}
	return longest
}
