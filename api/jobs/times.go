package jobs

import (
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Times contains the times at which a TrainJob reached the stages of its life. If the TrainJob has not reached a stage,
// the time of this stage is zero. The times Scheduled and Started are read from the status of pods. If these pods were
// deleted, Scheduled and Started are also zero.
type Times struct {
	// Created is the time at which the TrainJob was created. Resumed is the time at which the TrainJob was last resumed, or
	// its creation time if it was never resumed. From this time on, Trainer should create pods. Resumed is zero while the
	// TrainJob is suspended.
	Created, Resumed time.Time
	// Scheduled is the time at which the last pod was assigned to a cluster node.
	Scheduled time.Time
	// Started is the time at which mpirun started. If the TrainJob has no launcher, Started is the time at which the last
	// main container started.
	Started time.Time
	// Ended is the time at which the TrainJob succeeded or failed.
	Ended time.Time
}

// Times returns the times of the TrainJob. If a Job has created several pods with the same index, Times uses only the
// latest pod.
func (s Snapshot) Times() Times {
	times := Times{Created: s.Job.CreationTimestamp.Time, Resumed: s.resumedAt(), Scheduled: s.scheduledAt(), Started: s.startedAt()}
	if condition := meta.FindStatusCondition(s.Job.Status.Conditions, s.Outcome().Condition); condition != nil {
		times.Ended = condition.LastTransitionTime.Time
	}
	return times
}

// startedAt returns the time at which the training started. If the TrainJob has a launcher, the training starts with
// the launcher's main container. If the TrainJob has no launcher, the training starts when the last main container
// starts. startedAt returns zero if the training has not started, or if the pods of the TrainJob no longer exist.
func (s Snapshot) startedAt() time.Time {
	pods := s.LatestAttempts()
	if !s.hasStarted(pods) {
		return time.Time{}
	}
	var latest time.Time
	for _, pod := range pods {
		if pod.Role != Launcher && s.hasLauncher() {
			continue
		}
		latest = later(latest, pod.mainStart())
	}
	return latest
}

// mainStart returns the time at which the main container started, or zero if it has not started.
func (p Pod) mainStart() time.Time {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == MainContainer {
			return startOf(c)
		}
	}
	return time.Time{}
}

func startOf(c corev1.ContainerStatus) time.Time {
	switch {
	case c.State.Running != nil:
		return c.State.Running.StartedAt.Time
	case c.State.Terminated != nil:
		return c.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// scheduledAt returns the time at which the last pod was assigned to a cluster node. If a pod is not assigned to a
// cluster node, scheduledAt returns zero.
func (s Snapshot) scheduledAt() time.Time {
	var latest time.Time
	for _, pod := range s.LatestAttempts() {
		if !pod.isScheduled() {
			return time.Time{}
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.LastTransitionTime.After(latest) {
				latest = c.LastTransitionTime.Time
			}
		}
	}
	return latest
}

// CountScheduled returns the number of pods that are assigned to cluster nodes, and the number of pods that are not assigned
// or do not exist yet. Pods of completed initializers do not count, and pods that are being deleted count as missing.
func (s Snapshot) CountScheduled() (scheduled, waiting int) {
	for _, pod := range s.unfinishedPods() {
		switch {
		case pod.DeletionTimestamp != nil && s.Wanted != nil: // missingPods counts the pod
		case pod.isScheduled() && pod.DeletionTimestamp == nil:
			scheduled++
		default:
			waiting++
		}
	}
	return scheduled, waiting + s.missingPods()
}

// GangWait returns the time at which pods of the TrainJob began to wait for cluster nodes, or zero if no pod waits. If
// JobSet has created all pods again, or has created pods after an initializer ended, GangWait returns the creation time
// of the new pods. A pod that does not exist yet does not count as waiting. Therefore GangWait also returns zero if all
// existing pods are assigned to cluster nodes, and other pods are still missing.
func (s Snapshot) GangWait() time.Time {
	if s.Phase() != GangScheduling {
		return time.Time{}
	}
	var oldest time.Time
	for _, pod := range s.LatestAttempts() {
		if created := pod.CreationTimestamp.Time; !pod.isScheduled() && pod.DeletionTimestamp == nil && (oldest.IsZero() || created.Before(oldest)) {
			oldest = created
		}
	}
	if since := s.resumedAt(); !oldest.IsZero() && since.After(oldest) {
		return since
	}
	return oldest
}

// HasPodSince reports whether a pod was created at the given time or later.
func (s Snapshot) HasPodSince(at time.Time) bool {
	return slices.ContainsFunc(s.Pods, func(p Pod) bool { return !p.CreationTimestamp.Time.Before(at) })
}

// BlockedSince searches for a pod in which the main container has ended, but a sidecar still runs. This sidecar, for
// example the proxy of a service mesh, prevents the TrainJob from ending. BlockedSince returns the time at which the
// main container ended. If there is no such pod, BlockedSince returns zero.
func (s Snapshot) BlockedSince() time.Time {
	for _, pod := range s.LatestAttempts() {
		if pod.sidecar() == "" {
			continue
		}
		for _, c := range pod.Status.ContainerStatuses {
			if c.Name == MainContainer && c.State.Terminated != nil {
				return c.State.Terminated.FinishedAt.Time
			}
		}
	}
	return time.Time{}
}

// Strip removes the fields of a TrainJob that a Snapshot does not use, so that a cache of many TrainJobs needs less memory.
func Strip(job *trainer.TrainJob) {
	kept := trainer.TrainJobSpec{RuntimeRef: job.Spec.RuntimeRef, Suspend: job.Spec.Suspend, ManagedBy: job.Spec.ManagedBy}
	if t := job.Spec.Trainer; t != nil {
		kept.Trainer = &trainer.Trainer{NumNodes: t.NumNodes}
	}
	job.ManagedFields, job.Spec = creation(job.ManagedFields), kept
}

// creation returns a copy of the oldest entry of metadata.managedFields that belongs to no subresource. The field
// "manager" of this entry usually names the program that created the object. The copy contains only three fields of the
// entry: "manager", "operation" and "time".
func creation(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var oldest []metav1.ManagedFieldsEntry
	for _, f := range fields {
		if f.Subresource == "" && (len(oldest) == 0 || f.Time.Before(oldest[0].Time)) {
			oldest = []metav1.ManagedFieldsEntry{{Manager: f.Manager, Operation: f.Operation, Time: f.Time}}
		}
	}
	return oldest
}

// Creator returns the name of the program that created the TrainJob, such as "kubectl-create", or an empty string if it is
// unknown. If another program changed the TrainJob later, the result can be the name of this other program.
func (s Snapshot) Creator() string {
	for _, f := range creation(s.Job.ManagedFields) {
		return f.Manager
	}
	return ""
}

// StripPod removes fields from a pod. A Snapshot does not use the removed fields.
func StripPod(pod *corev1.Pod) {
	var containers []corev1.Container
	for _, c := range pod.Spec.Containers {
		containers = append(containers, corev1.Container{Name: c.Name, Image: c.Image})
	}
	pod.ManagedFields, pod.Spec = nil, corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: containers}
}

// StripJobSet removes fields from a JobSet. CountWanted does not use the removed fields.
func StripJobSet(set *jobset.JobSet) {
	var kept []jobset.ReplicatedJob
	for _, r := range set.Spec.ReplicatedJobs {
		job := jobset.ReplicatedJob{Name: r.Name, Replicas: r.Replicas, DependsOn: r.DependsOn}
		job.Template.Spec.Parallelism = r.Template.Spec.Parallelism
		kept = append(kept, job)
	}
	set.ManagedFields, set.Spec, set.Status = nil, jobset.JobSetSpec{ReplicatedJobs: kept}, jobset.JobSetStatus{}
}
