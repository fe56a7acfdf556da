package trainjob

import (
	"context"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// ReasonGangSchedulingTimeout means that the controller suspended a TrainJob, because its pods were not scheduled in time.
const ReasonGangSchedulingTimeout = "GangSchedulingTimeout"

// suspendLate suspends a TrainJob whose pods wait too long for cluster nodes. suspendLate returns the time until the
// timeout, or 0 if no timeout is pending. The controller suspends the TrainJob instead of deleting it, so that the settings
// of the TrainJob are kept.
func (c *Controller) suspendLate(ctx context.Context, snapshot jobs.Snapshot, current state, timeout time.Duration, now time.Time) (time.Duration, error) {
	job, workload := &snapshot.Job, snapshot.Workload
	if c.ReadOnly || timeout == 0 || current.waiting.IsZero() || !canSuspend(snapshot) {
		return 0, nil
	}
	if left := current.waiting.Add(timeout).Sub(now); left > 0 {
		return left, nil
	}
	if waits, err := c.stillWaits(ctx, job, now.Add(-timeout)); err != nil || !waits {
		return 0, err
	}
	text := fmt.Sprintf("Suspended, because its pods were not scheduled within %s. Previous message: %s", timeout, current.Message)
	if err := c.suspend(ctx, job, workload, text); err != nil {
		return 0, err
	}
	c.Events.Eventf(job, nil, corev1.EventTypeWarning, ReasonGangSchedulingTimeout, "Suspend", "%s", shorten(text))
	return 0, nil
}

// canSuspend reports whether the controller may suspend a TrainJob. The result is false if a
// suspension would be impossible or useless, for example because Argo CD or Flux resumed the
// TrainJob after an earlier suspension.
func canSuspend(snapshot jobs.Snapshot) bool {
	job, workload := &snapshot.Job, snapshot.Workload
	switch {
	case !job.DeletionTimestamp.IsZero(), snapshot.ManagedElsewhere(), job.Labels[multiKueueLabel] != "":
		return false
	case suspendsOnce(snapshot) && job.Annotations[v1alpha1.TimedOutAnnotation] != "":
		return false
	case snapshot.Queue() != "":
		return workload != nil && !workload.Inactive // nil: Kueue would resume the TrainJob; inactive: Kueue suspends it
	}
	return true
}

// multiKueueLabel is a label from kueue/apis/kueue. MultiKueue can run in another cluster and create
// TrainJobs in this cluster. The label marks these TrainJobs. If the controller suspended such a TrainJob,
// MultiKueue would delete it, and create it again.
const multiKueueLabel = "kueue.x-k8s.io/multikueue-origin"

// suspendsOnce reports whether the controller suspends a TrainJob only once. If Argo CD or Flux applies the TrainJob, the
// controller suspends it only once, because Argo CD or Flux would resume it after each suspension. A TrainJob in a Kueue
// queue is an exception: the controller suspends it by deactivating its Workload. Argo CD and Flux do not manage the
// Workload, so they do not resume the TrainJob.
func suspendsOnce(snapshot jobs.Snapshot) bool {
	return isAppliedFromGit(&snapshot.Job) && snapshot.Queue() == ""
}

// stillWaits reports whether pods of a TrainJob wait for cluster nodes, and began to wait at the given time or earlier.
// If the TrainJob waits only for new pods that do not exist yet, stillWaits ignores the given time. In this case,
// stillWaits checks whether old pods are being deleted. If old pods are being deleted, no new pods are expected yet,
// and stillWaits returns false. If no old pods are being deleted, stillWaits returns true. stillWaits reads the
// TrainJob and its pods from the API server, because the caches can be outdated. With outdated caches, the controller
// could suspend a TrainJob whose training has just started.
func (c *Controller) stillWaits(ctx context.Context, job *trainer.TrainJob, since time.Time) (bool, error) {
	live := &trainer.TrainJob{}
	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(job), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	pods := &corev1.PodList{}
	if err := c.Live.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{jobs.JobSetLabel: job.Name}); err != nil {
		return false, fmt.Errorf("listing the pods of the TrainJob: %w", err)
	}
	wanted, err := c.readWanted(ctx, job)
	if err != nil {
		return false, err
	}
	snapshot := jobs.MakeSnapshot(*live, pods.Items)
	snapshot.Now = c.Now()
	snapshot.Wanted = wanted
	waits := snapshot.Phase() == jobs.GangScheduling && !snapshot.GangWait().After(since)
	if snapshot.GangWait().IsZero() && snapshot.AwaitsPodEnds() {
		waits = false
	}
	return waits && live.UID == job.UID, nil
}

// suspend suspends a TrainJob, and stores the reason in an annotation. If the TrainJob is in a queue, suspend
// deactivates its Workload instead of setting spec.suspend, because Kueue would undo a change of spec.suspend.
func (c *Controller) suspend(ctx context.Context, job *trainer.TrainJob, workload *jobs.Workload, reason string) error {
	target := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	metadata := map[string]any{"uid": job.UID, "annotations": map[string]string{v1alpha1.TimedOutAnnotation: reason}}
	if workload == nil {
		return c.patch(ctx, target, map[string]any{"metadata": metadata, "spec": map[string]any{"suspend": true}})
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: workload.Name}}
	object.APIVersion, object.Kind = workload.APIVersion, "Workload"
	if err := c.patch(ctx, target, map[string]any{"metadata": metadata}); err != nil {
		return err
	}
	defer c.Queues.forget(job.Namespace)
	return c.patch(ctx, object, map[string]any{"spec": map[string]any{"active": false}})
}

// trackingMarks are labels and annotations that Argo CD and Flux add to the objects that they apply. The controller
// does not delete a TrainJob with such a mark, because Argo CD or Flux would create the TrainJob again, and the
// training would run again.
var trackingMarks = []string{
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance", "kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name",
}

// isAppliedFromGit reports whether Argo CD or Flux applies a TrainJob. For TrainJobs of a TrainJobSource, the result is
// false, although they also come from Git. Unlike Argo CD and Flux, a TrainJobSource does not create a deleted TrainJob
// again.
func isAppliedFromGit(job *trainer.TrainJob) bool {
	for _, mark := range trackingMarks {
		if job.Labels[mark]+job.Annotations[mark] != "" {
			return true
		}
	}
	return false
}

// deleteOld deletes a TrainJob, with all objects that belong to it, when the duration "ttl" has passed since its end.
// deleteOld deletes the TrainJob itself, because Trainer would run the TrainJob again if only the JobSet were deleted.
// The result is the time until the deletion, or 0 if the TrainJob stays or was just deleted.
func (c *Controller) deleteOld(ctx context.Context, snapshot jobs.Snapshot, current state, ttl *time.Duration, now time.Time) (time.Duration, error) {
	job, ended := &snapshot.Job, snapshot.Times().Ended
	if c.ReadOnly || ttl == nil || !current.ended || ended.IsZero() || !job.DeletionTimestamp.IsZero() || isAppliedFromGit(job) {
		return 0, nil
	}
	if left := ended.Add(*ttl).Sub(now); left > 0 {
		return left, nil
	}
	err := c.Client.Delete(ctx, job.DeepCopy(), client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err := client.IgnoreNotFound(err); err != nil {
		return 0, fmt.Errorf("deleting the TrainJob after its time to live: %w", err)
	}
	return 0, nil
}
