package trainjob

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/jobreport"
)

func (w *world) expectReasons(job string, want ...string) {
	w.Helper()
	controlplane.Eventually(w, func(ctx context.Context) error {
		return jobreport.CheckReasons(ctx, w.cp.Client(), client.ObjectKey{Namespace: w.namespace, Name: job}, want...)
	})
}

func TestTrainJobSucceeds(t *testing.T) {
	w := newWorld(t, nil)
	w.submit("train")
	w.expect("train", jobs.Pending, "Waiting for pods to be created")
	w.createPods("train")
	w.expect("train", jobs.GangScheduling, "0 of 3 pods are scheduled; 0/6 nodes are available: 6 Insufficient nvidia.com/gpu.")
	w.schedule("train")
	w.expect("train", jobs.Initializing, "Starting: 0 of 3 pods are ready")
	w.run("train")
	w.expect("train", jobs.Running, "Running on 3 pods")
	// The controller writes events in the background, so an event can appear later than the
	// annotations.
	w.expectReasons("train", "JobSubmitted", "GangSchedulingStarted", "PodsReady", "TrainingStarted")
	before := len(w.writes.all())
	time.Sleep(3 * time.Second)
	if wrote := w.writes.all()[before:]; len(wrote) > 0 {
		t.Errorf("nothing changed, but the controller sent %q", wrote)
	}
	w.end("train", 0, "")
	w.expect("train", jobs.Succeeded, "Succeeded")
	w.expectReasons("train", "JobSubmitted", "GangSchedulingStarted", "PodsReady", "TrainingStarted", "TrainingComplete")
}

// TestTrainJobFails: the controller must recognize the failure in the termination message of the launcher's container.
// It cannot read the container's log, because no kubelet runs in this test.
func TestTrainJobFails(t *testing.T) {
	w := newWorld(t, nil)
	w.submit("train")
	w.createPods("train")
	w.schedule("train")
	w.run("train")
	w.expect("train", jobs.Running, "")
	w.end("train", 1, "Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\nValueError: batch size 0\n")
	w.expect("train", jobs.Failed, "PythonException (pod train-launcher-0-0-abcde): ")
	w.expect("train", jobs.Failed, "Evidence: ValueError: batch size 0")
	w.expectReasons("train", "JobSubmitted", "GangSchedulingStarted", "PodsReady", "TrainingStarted", "TrainingFailed")
}

// TestRestartRepeatsNothing: the controller must not repeat earlier events, and must report what happened while it was
// stopped.
func TestRestartRepeatsNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.submit("train")
	w.submit("other")
	w.createPods("train")
	w.expect("train", jobs.GangScheduling, "")
	w.expect("other", jobs.Pending, "")
	w.stop()
	w.schedule("train")
	w.run("train")
	w.start(nil)
	w.expect("train", jobs.Running, "")
	w.expectReasons("train", "JobSubmitted", "GangSchedulingStarted", "PodsReady", "TrainingStarted")
	w.expectReasons("other", "JobSubmitted")
}

// TestReadOnlyWritesNothing checks that a controller with the option ReadOnly changes no objects. The test creates two
// TrainJobs, which are named "waiting" and "ended". The pods of the first TrainJob are never scheduled. Without the
// option ReadOnly, the controller would suspend this TrainJob after a timeout. The second TrainJob completes. Without
// the option ReadOnly, the controller would delete this TrainJob after its time to live. The controller would also
// create network policies in the namespace.
func TestReadOnlyWritesNothing(t *testing.T) {
	w := newWorld(t, func(o *controller.Options) { o.ReadOnly, o.LeaderElection = true, true })
	w.isolate()
	runtime := w.runtimeWith(map[string]string{v1alpha1.GangAnnotation: `{"timeoutSeconds":1}`, v1alpha1.TTLAnnotation: "0"})
	for _, name := range []string{"waiting", "ended"} {
		w.submitTo(name, runtime)
		w.createPods(name)
	}
	w.schedule("ended")
	w.run("ended")
	w.end("ended", 0, "")
	for name, phase := range map[string]jobs.Phase{"waiting": jobs.GangScheduling, "ended": jobs.Succeeded} {
		labels := map[string]string{metrics.LabelNamespace: w.namespace, metrics.LabelTrainJob: name, metrics.LabelPhase: string(phase)}
		controlplane.Eventually(t, func(context.Context) error { return jobreport.CheckValue(metrics.TrainJobPhase, labels, 1) })
	}
	time.Sleep(2 * time.Second) // longer than the timeout
	if wrote := w.writes.all(); len(wrote) > 0 {
		t.Errorf("the controller sent %q", wrote)
	}
}
