package trainjob

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// waiting returns the snapshot of a TrainJob that needs a launcher and a node (a pod in which ranks run). The snapshot has
// one scheduled node for each given creation time, and no launcher.
func waiting(created ...time.Time) jobs.Snapshot {
	job := trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bert", UID: "1", CreationTimestamp: metav1.NewTime(start)}}
	job.Status.JobsStatus = []trainer.JobStatus{{Name: string(jobs.Launcher)}}
	var pods []corev1.Pod
	for _, at := range created {
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", CreationTimestamp: metav1.NewTime(at),
				Labels: map[string]string{jobs.JobSetLabel: "bert", "jobset.sigs.k8s.io/replicatedjob-name": "node"},
			},
			Spec: corev1.PodSpec{NodeName: "a"},
		})
	}
	snapshot := jobs.MakeSnapshot(job, pods)
	snapshot.Wanted = jobs.WantedPods{jobs.Launcher: {Pods: 1}, jobs.Node: {Pods: 1}}
	return snapshot
}

func newTestController() *Controller {
	return &Controller{Metrics: NewMetrics(time.Now), explanations: newExplanations(nil, time.Now)}
}

// TestMissingPodsWaitSinceNow: if a pod is lost, the gang timeout must begin when the controller notices that the
// pod is missing, and not when the remaining pods were created.
func TestMissingPodsWaitSinceNow(t *testing.T) {
	c, now := newTestController(), start.Add(5*time.Hour)
	first := c.observe(waiting(start), state{Phase: jobs.Initializing}, now)
	if first.Phase != jobs.GangScheduling || !first.waiting.Equal(now) {
		t.Errorf("phase %s, waiting since %s, want GangScheduling since %s", first.Phase, first.waiting, now)
	}
	if second := c.observe(waiting(start), first, now.Add(time.Minute)); !second.waiting.Equal(now) {
		t.Errorf("the wait began at %s, want %s", second.waiting, now)
	}
}

// TestPodsThatEndAreNoWait: JobSet can wait until old pods have ended. The time of this wait must not count towards the
// gang timeout. During the wait, JobSet has not created the new pods yet, so no new pod waits for a cluster node.
func TestPodsThatEndAreNoWait(t *testing.T) {
	c, now := newTestController(), start.Add(5*time.Hour)
	snapshot := waiting(start)
	snapshot.Pods[0].DeletionTimestamp = &metav1.Time{Time: now}
	seen := c.observe(snapshot, state{Phase: jobs.Initializing}, now)
	if seen.Phase != jobs.GangScheduling || !seen.waiting.IsZero() {
		t.Errorf("phase %s, waiting since %s, want GangScheduling without a wait", seen.Phase, seen.waiting)
	}
	if v := readGauges(snapshot, "openmpi", seen); v.placed != 0 || v.missing != 2 {
		t.Errorf("%d pods are placed, and %d are missing, want 0 and 2", v.placed, v.missing)
	}
}

// TestLauncherOnDeadNode checks that the controller counts the launcher's pod as lost some time after the pod's cluster
// node died. The controller must then stop reporting the phase Running. No event tells the controller about the loss.
// Kubernetes marks a pod on a dead cluster node for deletion, but does not remove the pod. The pod's status still says
// that its container runs.
func TestLauncherOnDeadNode(t *testing.T) {
	c, deleted := newTestController(), start.Add(5*time.Hour)
	snapshot := waiting(start)
	launcher := &snapshot.Pods[0]
	launcher.Role, launcher.DeletionTimestamp = jobs.Launcher, &metav1.Time{Time: deleted}
	launcher.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: jobs.MainContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start.Add(time.Second))}},
	}}
	snapshot.Now = deleted
	seen := c.observe(snapshot, state{Phase: jobs.Running, started: true}, snapshot.Now)
	if seen.Phase != jobs.Running || seen.refresh() == 0 {
		t.Errorf("phase %s, observed again after %s, want Running and another observation", seen.Phase, seen.refresh())
	}
	for range 10 {
		snapshot.Now = snapshot.Now.Add(refreshInterval)
		seen = c.observe(snapshot, seen, snapshot.Now)
	}
	if seen.Phase != jobs.GangScheduling || !seen.waiting.IsZero() {
		t.Errorf("phase %s, waiting since %s, want GangScheduling without a wait for cluster nodes", seen.Phase, seen.waiting)
	}
}

// TestOldExplanationIsForgotten: a TrainJob can enter the same phase a second time, for example after JobSet has restarted
// it. The controller must then not report the cause that it found the first time.
func TestOldExplanationIsForgotten(t *testing.T) {
	c, key := newTestController(), types.NamespacedName{Namespace: "team", Name: "bert"}
	snapshot := waiting(start)
	snapshot.Wanted = nil
	now := start.Add(time.Hour)
	first := c.observe(snapshot, state{}, now)
	first = c.observe(snapshot, first, now.Add(time.Minute))
	found := jobs.Explanation{Phase: jobs.Initializing, Causes: []jobs.Cause{{Code: "ImageNotFound", Level: "cause"}}}
	c.explanations.store(key, c.explanations.wanted(key), found, nil)
	if first = c.observe(snapshot, first, now.Add(time.Minute)); first.cause == nil {
		t.Fatal("the wait has no cause")
	}
	c.observe(snapshot, state{Phase: jobs.Running}, now.Add(2*time.Minute)) // the phase begins again
	if again := c.observe(snapshot, state{Phase: jobs.Initializing, since: now.Add(2 * time.Minute)}, now.Add(3*time.Minute)); again.cause != nil {
		t.Errorf("the cause is %s, want none yet", again.cause.Code)
	}
}

// TestLostLauncherKeepsRunning: after the launcher is lost, the phase must stay Running until new pods exist. If there
// are still no new pods after the time limit startTime, the phase must change nevertheless. If the phase changed
// immediately, the controller would write the events of an earlier stage again. These events would be misleading for a
// TrainJob that fails because JobSet does not restart its pods.
func TestLostLauncherKeepsRunning(t *testing.T) {
	c, started := newTestController(), start.Add(time.Minute)
	before := state{Phase: jobs.Running, Message: "Running on 2 pods", trainingSince: started, started: true}
	again := started.Add(time.Hour)
	lost := c.observe(waiting(start), before, again)
	if lost.Phase != jobs.Running || lost.refresh() != refreshInterval {
		t.Errorf("the phase is %s, and is observed again after %s, want Running for %s", lost.Phase, lost.refresh(), refreshInterval)
	}
	if got := c.observe(waiting(start), lost, again.Add(startTime)); got.Phase != jobs.GangScheduling || got.waiting.IsZero() {
		t.Errorf("without new pods, the phase is %s, waiting since %s, want GangScheduling", got.Phase, got.waiting)
	}
	if got := c.observe(waiting(again), before, again.Add(time.Second)); got.Phase != jobs.GangScheduling {
		t.Errorf("after new pods were created, the phase is %s, want GangScheduling", got.Phase)
	}
}

// TestUnexplainedFailureIsExplainedAfterRestart: after a restart, the controller must explain each failure that
// the annotations do not mark as explained.
func TestUnexplainedFailureIsExplainedAfterRestart(t *testing.T) {
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bert", UID: "1", Annotations: map[string]string{
		v1alpha1.PhaseAnnotation: string(jobs.Failed), v1alpha1.ObservedAnnotation: "1",
	}}}
	if got := (&memory{}).recall(job); got.ended || got.Phase != jobs.Failed {
		t.Errorf("%+v, want a failure that is not explained", got)
	}
	job.Annotations[v1alpha1.ObservedAnnotation] = "1" + endedMark
	if got := (&memory{}).recall(job); !got.ended {
		t.Errorf("%+v, want an explained failure", got)
	}
	job.UID = "2"
	if got := (&memory{}).recall(job); got.Phase != "" {
		t.Errorf("%+v, want nothing: the annotations are copied from another TrainJob", got)
	}
}

// TestStartIsCountedOnce: if JobSet restarts all pods, and then the controller is restarted too, the controller must not
// count the start of the training again.
func TestStartIsCountedOnce(t *testing.T) {
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bert", UID: "1", Annotations: map[string]string{
		v1alpha1.PhaseAnnotation: string(jobs.Initializing), v1alpha1.ObservedAnnotation: "1" + startedMark,
	}}}
	if got := (&memory{}).recall(job); !got.started || got.Phase != jobs.Initializing {
		t.Errorf("%+v, want a TrainJob whose training has started before", got)
	}
}

// TestRestartIsNotStuckAtOnce: if JobSet restarts all pods of a TrainJob that was created long ago, the new pods must get time
// to start before the controller looks for a cause.
func TestRestartIsNotStuckAtOnce(t *testing.T) {
	restarted := start.Add(5 * time.Hour)
	s := state{Phase: jobs.Initializing, since: restarted}
	if s.isStuck(waiting(restarted), restarted.Add(startTime)) {
		t.Errorf("the TrainJob is stuck %s after the restart", startTime)
	}
	if !s.isStuck(waiting(restarted), restarted.Add(startTime+time.Second)) {
		t.Errorf("the TrainJob is not stuck, although its pods do not start within %s", startTime)
	}
	if s.since = (time.Time{}); !s.isStuck(waiting(restarted), restarted) {
		t.Error("the TrainJob is not stuck, although it was created long ago")
	}
}

// TestExplanationOfAnotherPhase checks that the report of a failure contains no cause that was found in an earlier phase.
func TestExplanationOfAnotherPhase(t *testing.T) {
	e := newExplanations(nil, time.Now)
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bert", UID: "1"}}
	key := types.NamespacedName{Namespace: "team", Name: "bert"}
	e.get(job, jobs.Initializing)
	early := e.wanted(key)
	e.get(job, jobs.Failed)
	e.store(key, early, jobs.Explanation{Phase: jobs.Initializing, Causes: []jobs.Cause{{Code: "RegistryUnreachable", Level: "cause"}}}, nil)
	if cause, finished := e.get(job, jobs.Failed); cause != nil || finished {
		t.Errorf("the cause is %+v, want none yet", cause)
	}
	e.store(key, e.wanted(key), jobs.Explanation{Phase: jobs.Failed, Causes: []jobs.Cause{{Code: "OutOfMemory", Level: "cause"}}}, nil)
	if cause, finished := e.get(job, jobs.Failed); cause == nil || cause.Code != "OutOfMemory" || !finished {
		t.Errorf("the cause is %+v, finished %t, want OutOfMemory", cause, finished)
	}
}

// TestPhaseBeforeTheStart checks that the duration of a phase is unknown if the phase began before the controller was
// started.
func TestPhaseBeforeTheStart(t *testing.T) {
	c := newTestController()
	c.began = start.Add(time.Hour)
	if got := c.observe(waiting(start), state{}, c.began); !got.since.IsZero() {
		t.Errorf("the phase began at %s, want an unknown time", got.since)
	}
}

type panicking struct{}

func (panicking) Explain(context.Context, types.NamespacedName) (jobs.Explanation, error) {
	panic("a bug") //nolint:forbidigo // the test needs a panic
}

// TestPanicIsAFailedExplanation: if the Explainer panics in all attempts, the failure of the TrainJob must be reported
// without a cause.
func TestPanicIsAFailedExplanation(t *testing.T) {
	e := newExplanations(panicking{}, time.Now)
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bert", UID: "1"}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for range e.changed {
			continue
		}
	}()
	for range maxAttempts {
		if _, finished := e.get(job, jobs.Failed); finished {
			t.Error("the explanation is finished too early")
		}
		e.explain(ctx, types.NamespacedName{Namespace: "team", Name: "bert"})
	}
	if cause, finished := e.get(job, jobs.Failed); cause != nil || !finished {
		t.Errorf("the cause is %v, finished %t, want an end without a cause", cause, finished)
	}
	close(e.changed)
}
