//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
)

// manyHostsTimeout is the maximum duration of a job in TestManyHosts. On two cores, a job with 100 hosts takes nine
// minutes.
const manyHostsTimeout = 15 * time.Minute

// TestManyHosts runs one job for each MPI implementation. Each job runs one rank on each host. The environment variable
// TRAINYARD_HOSTS contains the number of hosts of each job.
func TestManyHosts(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("TRAINYARD_HOSTS"))
	if err != nil {
		t.Skip("starts as many pods as TRAINYARD_HOSTS says, and TRAINYARD_HOSTS is not set: run `make hosts`")
	}
	s := useCluster(t)
	raiseNeighborLimits(t)
	for _, mpi := range []string{"openmpi", "openmpi5", "mpich", "intel"} {
		t.Run(mpi, func(t *testing.T) {
			small := s.changedRuntime(t, mpi, requestLittle)
			job := build.MakeTrainJob("sum", s.makeNamespace(t)).Runtime(small).Nodes(int32(count)).ProcPerNode(1)
			got := s.runWithin(t, manyHostsTimeout, job.Command("mpirun", "python3", "/opt/allreduce.py"))
			if diff := cmp.Diff(oneRankPerHost(count), got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("outcome: -want +got:\n%s", diff)
			}
		})
	}
}

// raiseNeighborLimits raises the limits of the kernel's neighbor tables, so that each pod can store the link-layer
// addresses of all other pods. All network namespaces of the machine share the limits of the neighbor tables. With
// the default limits, connections between 100 pods time out, and the kernel logs "neighbor table overflow".
func raiseNeighborLimits(t *testing.T) {
	t.Helper()
	for _, threshold := range []string{"1", "2", "3"} {
		file := "/proc/sys/net/ipv4/neigh/default/gc_thresh" + threshold
		before, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte("65536"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(file, before, 0o644); err != nil {
				t.Error(err)
			}
		})
	}
}

func oneRankPerHost(count int) outcome {
	want := outcome{
		condition: trainer.TrainJobComplete,
		verdict:   verdict{Hosts: count, Reached: count, Slots: count, Available: count, Failed: []jobs.HostFailure{}},
	}
	for rank := range count {
		host := "launcher-0-0"
		if rank > 0 {
			host = fmt.Sprintf("node-0-%d", rank-1)
		}
		want.ranks = append(want.ranks, fmt.Sprintf("rank %d of %d on sum-%s: sum=%d", rank, count, host, count*(count+1)/2))
	}
	slices.Sort(want.ranks)
	return want
}
