//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
)

const ranksPerHost = 2

func TestRanksReachEachOther(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for _, mpi := range []string{"openmpi", "openmpi5", "mpich", "intel"} {
		for name, tc := range map[string]struct {
			runtime string
			nodes   int32 // numNodes of the TrainJob
			hosts   []string
		}{
			"with ranks on the launcher":                {"", 3, []string{"launcher-0-0", "node-0-0", "node-0-1"}},
			"with ranks on nodes only":                  {"-separate", 2, []string{"node-0-0", "node-0-1"}},
			"with an unknown user and a read-only root": {"-strict", 2, []string{"launcher-0-0", "node-0-0"}},
		} {
			t.Run(mpi+" "+name, func(t *testing.T) {
				t.Parallel()
				job := build.MakeTrainJob("sum", s.makeNamespace(t)).Runtime(mpi + tc.runtime).Nodes(tc.nodes)
				s.expectSum(t, job, tc.hosts)
			})
		}
	}
}

func TestNamespacedRuntimesRunJobs(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	job := build.MakeTrainJob("sum", tenantName).NamespacedRuntime("openmpi-team").Nodes(2)
	s.expectSum(t, job, []string{"launcher-0-0", "node-0-0"})
}

func TestFailedCommandFailsTheTrainJob(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for _, runtime := range []string{"openmpi", "openmpi5", "mpich", "intel"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			job := build.MakeTrainJob("bad", s.makeNamespace(t)).Runtime(runtime).Nodes(2).ProcPerNode(ranksPerHost)
			if got := s.run(t, job.Command("mpirun", "sh", "-c", "exit 3")); got.condition != trainer.TrainJobFailed {
				t.Errorf("the TrainJob has condition %q, want Failed", got.condition)
			}
		})
	}
}

func (s *sandbox) expectSum(t *testing.T, job *build.TrainJob, hosts []string) {
	t.Helper()
	s.expectRanks(t, job.ProcPerNode(ranksPerHost).Command("mpirun", "python3", "/opt/allreduce.py"), hosts)
}

func (s *sandbox) expectRanks(t *testing.T, job *build.TrainJob, hosts []string) {
	t.Helper()
	got := s.run(t, job)
	size := len(hosts) * ranksPerHost
	want := outcome{
		condition: trainer.TrainJobComplete,
		verdict:   verdict{Hosts: len(hosts), Reached: len(hosts), Slots: size, Failed: []jobs.HostFailure{}},
	}
	for _, host := range hosts {
		if strings.HasPrefix(host, string(jobs.Launcher)) {
			want.verdict.Available += ranksPerHost // preflight cannot count the launcher's CPUs, and reports all its slots
		} else {
			want.verdict.Available++ // the CPU limit is below 2, so preflight counts one CPU
		}
	}
	for rank := range size {
		want.ranks = append(want.ranks, fmt.Sprintf("rank %d of %d on %s-%s: sum=%d", rank, size, job.Obj().Name, hosts[rank/ranksPerHost], size*(size+1)/2))
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("outcome: -want +got:\n%s", diff)
	}
}
