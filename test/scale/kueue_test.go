//go:build linux

package scale

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// hosts is how many pods a queued job has. The quota of testdata has room for one such job.
const hosts = 3

// TestJobsWaitForQuota: of two jobs in a queue, one runs and the other is suspended, without
// pods, until the first has ended.
func TestJobsWaitForQuota(t *testing.T) {
	if os.Getenv("TRAINYARD_KUEUE") == "" {
		t.Skip("needs Kueue and a cluster of simulated nodes: run `make kueue`")
	}
	for version, layer := range map[string]string{"trainer-2.3": "kueue.yaml", "trainer-2.1": "kueue-trainer-2.1.yaml"} {
		t.Run(version, func(t *testing.T) {
			s := start(t, cluster.Options{Nodes: hosts, Trainer: version, Kueue: true}, "platform.yaml", layer)
			s.kubectl(t, "", "apply", "-f", filepath.Join(repo.Path(t), "test/scale/testdata/queue.yaml"))
			s.expectTurns(t)
			// An old client asks for what Kueue has to convert.
			if diff := cmp.Diff("all", s.kubectl(t, "", "get", "localqueues.v1beta1.kueue.x-k8s.io", "team", "-o", "jsonpath={.spec.clusterQueue}")); diff != "" {
				t.Errorf("the queue in an older version of its kind: -want +got:\n%s", diff)
			}
		})
	}
}

func (s *sandbox) expectTurns(t *testing.T) {
	t.Helper()
	first, second := queued("first", "1h"), queued("second", "1s")
	s.submit(t, first)
	s.await(t, first, runs)
	s.submit(t, second)
	s.await(t, second, waits)
	s.await(t, first, runs)
	s.kubectl(t, "", "delete", "trainjob", first.Name)
	s.await(t, second, func(job *trainer.TrainJob, running int) bool {
		return meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) && running == 0
	})
}

func queued(name, duration string) *trainer.TrainJob {
	return build.MakeTrainJob(name, "default").Runtime("openmpi").Nodes(hosts).Label("kueue.x-k8s.io/queue-name", "team").
		Command("mpirun", "hostname").Env(upstream.SimulatedDuration, duration).Obj()
}

func runs(job *trainer.TrainJob, running int) bool {
	return !ptr.Deref(job.Spec.Suspend, false) && running == hosts
}

func waits(job *trainer.TrainJob, running int) bool {
	return ptr.Deref(job.Spec.Suspend, false) && running == 0 &&
		meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobSuspended)
}
