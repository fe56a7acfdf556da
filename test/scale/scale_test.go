//go:build linux

package scale

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/upstream"
)

// nodeCount is the number of cluster nodes, and also the number of pods of the job, including the launcher.
const nodeCount = 100

func TestJobOfManyNodesRunsAndCompletes(t *testing.T) {
	if os.Getenv("TRAINYARD_SCALE") == "" {
		t.Skip("needs a cluster of simulated nodes: run `make scale`")
	}
	s := startSandbox(t, cluster.Options{Nodes: nodeCount}, "platform.yaml")
	for name, tc := range map[string]struct {
		duration string
		reached  func(*trainer.TrainJob, int) bool
	}{
		"all pods run while the launcher runs": {"1h", func(_ *trainer.TrainJob, running int) bool {
			return running == nodeCount
		}},
		"the job is complete and no pod runs after the launcher has ended": {"1s", func(job *trainer.TrainJob, running int) bool {
			return meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) && running == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			job := build.MakeTrainJob("big-"+tc.duration, "default").Runtime("openmpi").Nodes(nodeCount).
				Command("mpirun", "hostname").Env(upstream.SimulatedDuration, tc.duration).Obj()
			t.Cleanup(func() { s.runKubectl(t, "", "delete", "trainjob", job.Name) })
			began := time.Now()
			s.submit(t, job)
			s.await(t, job, tc.reached)
			t.Logf("reached after %s", time.Since(began).Round(100*time.Millisecond))
		})
	}
}

// await calls the function "reached" repeatedly, until "reached" returns true. In each call, the arguments are the
// current TrainJob and the number of its running pods.
func (s *sandbox) await(t *testing.T, job *trainer.TrainJob, reached func(*trainer.TrainJob, int) bool) {
	t.Helper()
	poll.Until(t, waitTimeout, func(ctx context.Context) error {
		running, err := s.countRunning(ctx, job)
		if err == nil && !reached(job, running) {
			err = fmt.Errorf("%d pods run, and %s has conditions %v", running, job.Name, job.Status.Conditions)
		}
		return err
	})
}
