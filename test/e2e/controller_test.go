//go:build linux

package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/jobreport"
	"github.com/trainyard/trainyard/test/poll"
)

// runningController is trainyard's controller, which runs from the first call of useController until the end of all tests.
type runningController struct {
	once sync.Once
	stop func() error
	err  error
}

// useController returns the shared cluster. The first call starts trainyard's controller for this
// cluster. Most tests do not need the controller, and call useCluster instead.
func useController(t *testing.T) *sandbox {
	t.Helper()
	s := useCluster(t)
	s.controller.once.Do(func() { s.controller.stop, s.controller.err = jobreport.Start(s.kubeconfig) })
	if s.controller.err != nil {
		t.Fatalf("starting the controller: %v", s.controller.err)
	}
	return s
}

// end is the method that stops trainyard's controller. If no test has started the controller, the method returns nil.
func (c *runningController) end() error {
	if c.stop == nil {
		return nil
	}
	return c.stop()
}

func (s *sandbox) expectReport(t *testing.T, namespace, job string, phase jobs.Phase, text string) {
	t.Helper()
	poll.Until(t, time.Minute, func(ctx context.Context) error {
		return jobreport.CheckAnnotations(ctx, s.client, client.ObjectKey{Namespace: namespace, Name: job}, phase, text)
	})
}

// TestControllerFollowsTrainJobs checks the annotations and the events that trainyard's controller writes for a
// TrainJob with real pods.
func TestControllerFollowsTrainJobs(t *testing.T) {
	t.Parallel()
	s := useController(t)
	namespace := s.makeNamespace(t)
	if got := s.run(t, build.MakeTrainJob("train", namespace).Runtime("openmpi").Nodes(2).Command("mpirun", "sleep", "5")); got.condition != trainer.TrainJobComplete {
		t.Fatalf("the job has condition %q", got.condition)
	}
	s.expectReport(t, namespace, "train", jobs.Succeeded, "Succeeded")
	poll.Until(t, time.Minute, func(ctx context.Context) error {
		key := client.ObjectKey{Namespace: namespace, Name: "train"}
		return jobreport.CheckReasons(ctx, s.client, key, "JobSubmitted", "GangSchedulingStarted", "PodsReady", "TrainingStarted", "TrainingComplete")
	})
}

// TestJobsAreIsolated checks that network policies allow connections only between the pods of the same TrainJob. The
// test does not run in parallel with other tests, because the function enforcePolicies would also enforce network
// policies on the pods of the other tests.
func TestJobsAreIsolated(t *testing.T) {
	s := useController(t)
	const first, second = "isolated-a", "isolated-b"
	for _, name := range []string{first, second} {
		if err := s.client.Create(t.Context(), restrictedNamespace(name)); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	generated, err := s.generate(t.Context(), "test/e2e/testdata/isolated.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.runKubectl(generated, "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatalf("applying the generated objects: %v: %s", err, out)
	}
	s.enforcePolicies(t)
	t.Run("MPI works within a job", func(t *testing.T) {
		s.expectSum(t, build.MakeTrainJob("sum", first).NamespacedRuntime("openmpi").Nodes(3), []string{"launcher-0-0", "node-0-0", "node-0-1"})
	})
	own := s.startIdle(t, build.MakeTrainJob("own", first).NamespacedRuntime("openmpi"))
	neighbour := s.startIdle(t, build.MakeTrainJob("neighbour", first).NamespacedRuntime("openmpi"))
	foreign := s.startIdle(t, build.MakeTrainJob("foreign", second).NamespacedRuntime("openmpi"))
	for name, tc := range map[string]struct {
		from, to jobs.Pod
		want     bool
	}{
		"a launcher reaches its node":                        {own[jobs.Launcher], own[jobs.Node], true},
		"a node reaches its launcher":                        {own[jobs.Node], own[jobs.Launcher], true},
		"a launcher does not reach another job's node":       {own[jobs.Launcher], neighbour[jobs.Node], false},
		"a node does not reach another job's node":           {neighbour[jobs.Node], own[jobs.Node], false},
		"a launcher does not reach another tenant's node":    {own[jobs.Launcher], foreign[jobs.Node], false},
		"another tenant's launcher does not reach the node":  {foreign[jobs.Launcher], own[jobs.Node], false},
		"a job of another tenant works in the same way also": {foreign[jobs.Launcher], foreign[jobs.Node], true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := getsResponse(t, tc.from, tc.to.Status.PodIP, "2222"); got != tc.want {
				t.Errorf("%s responds to %s: %t, want %t", tc.to.Name, tc.from.Name, got, tc.want)
			}
		})
	}
}
