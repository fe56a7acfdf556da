package jobs

import (
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Phase is a stage in the life of a TrainJob. The conditions that Trainer sets do not show the phases from Pending to
// Running, so trainyard computes these phases from the pods.
type Phase string

const (
	// Pending means that no pod of the TrainJob exists yet.
	Pending Phase = "Pending"
	// GangScheduling means that some pods do not exist, or that the scheduler has not assigned all pods to cluster
	// nodes. Missing pods do not count after a pod has failed, because Job and JobSet then delete the other pods.
	GangScheduling Phase = "GangScheduling"
	// Initializing means that all pods are assigned to cluster nodes, but mpirun has not started. In the phase
	// Initializing, images are pulled, and the launcher waits until sshd listens on the nodes.
	Initializing Phase = "Initializing"
	// Running means that mpirun has started. If the TrainJob has no launcher, Running means that the programs on all
	// nodes have started.
	Running Phase = "Running"
	// Succeeded means that the TrainJob has ended without a failure.
	Succeeded Phase = "Succeeded"
	// Failed means that the TrainJob has ended with a failure.
	Failed Phase = "Failed"
	// Suspended means that spec.suspend is true. Users set spec.suspend to stop a TrainJob. Kueue sets spec.suspend while a
	// TrainJob waits in a queue.
	Suspended Phase = "Suspended"
)

// Phase returns the current phase of the TrainJob.
func (s Snapshot) Phase() Phase {
	pods := s.LatestAttempts()
	switch outcome := s.Outcome(); {
	case outcome.Condition == trainer.TrainJobComplete:
		return Succeeded
	case outcome.Condition == trainer.TrainJobFailed:
		return Failed
	case s.isSuspended():
		return Suspended
	case len(pods) == 0:
		return Pending
	case s.hasStarted(pods):
		return Running
	case slices.ContainsFunc(pods, func(p Pod) bool { return !p.isScheduled() }):
		return GangScheduling
	case s.missingPods() > 0 && !slices.ContainsFunc(pods, Pod.hasFailed):
		// A TrainJob that lacks pods usually waits for cluster nodes. However, after a pod has failed, Job and JobSet
		// delete the other pods. The TrainJob then lacks pods, but waits for no cluster nodes.
		return GangScheduling
	}
	return Initializing
}

func (s Snapshot) isSuspended() bool { return s.Job.Spec.Suspend != nil && *s.Job.Spec.Suspend }

// hasStarted reports whether mpirun runs or has ended. For a TrainJob without MPI, which has no launcher, hasStarted
// reports whether the main containers of all nodes run or have ended. Lost pods (see isLost) do not count.
func (s Snapshot) hasStarted(pods []Pod) bool {
	pods = slices.DeleteFunc(slices.Clone(pods), s.isLost)
	if s.hasLauncher() {
		return slices.ContainsFunc(pods, func(p Pod) bool { return p.Role == Launcher && p.mainHasStarted() })
	}
	nodes := slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return p.Role != Node })
	waiting := slices.ContainsFunc(nodes, func(p Pod) bool { return !p.mainHasStarted() })
	return len(nodes) >= s.wantedNodes() && !waiting
}

// wantedNodes returns the number of nodes that the JobSet requests. If this number is unknown, wantedNodes returns the
// number that the TrainJob requests, or 1 if the TrainJob does not set the number.
func (s Snapshot) wantedNodes() int {
	if wanted, known := s.Wanted[Node]; known {
		return wanted.Pods
	}
	if s.Job.Spec.Trainer == nil {
		return 1
	}
	return int(ptr.Deref(s.Job.Spec.Trainer.NumNodes, 1))
}

// hasLauncher reports whether the TrainJob has a launcher, even if the launcher's pod does not exist yet.
func (s Snapshot) hasLauncher() bool {
	return len(s.PodsOf(Launcher)) > 0 ||
		slices.ContainsFunc(s.Job.Status.JobsStatus, func(s trainer.JobStatus) bool { return s.Name == string(Launcher) })
}

// hasFailed returns true for a failed pod that is not being deleted. A failed pod that is being deleted does not count,
// because JobSet deletes failed pods when it restarts a TrainJob.
func (p Pod) hasFailed() bool {
	return p.Status.Phase == corev1.PodFailed && p.DeletionTimestamp == nil
}

// isScheduled reports whether the pod is assigned to a cluster node.
func (p Pod) isScheduled() bool { return p.Spec.NodeName != "" }

func (p Pod) mainHasStarted() bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == MainContainer && (c.State.Running != nil || c.State.Terminated != nil)
	})
}

// hasStarted reports whether a container of the pod runs or has ended, without counting init containers.
func (p Pod) hasStarted() bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil
	})
}

func (p Pod) isReady() bool {
	_, ready := p.readySince()
	return ready
}

// readySince returns the time at which the pod became ready. If the pod is not ready, the time is zero, and the
// result "ready" is false.
func (p Pod) readySince() (since time.Time, ready bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
