package jobs

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Phase is a stage in the life of a TrainJob. Trainer's conditions do not distinguish the stages before the training runs.
type Phase string

const (
	// Pending means that no pod of the TrainJob exists yet.
	Pending Phase = "Pending"
	// GangScheduling means that the scheduler has not assigned all pods to cluster nodes.
	GangScheduling Phase = "GangScheduling"
	// Initializing means that all pods are assigned to cluster nodes, but mpirun has not started. In this phase, images
	// are pulled, and the launcher waits until sshd listens on the nodes.
	Initializing Phase = "Initializing"
	// Running means that mpirun has started. If the TrainJob has no launcher, it means that the programs on all nodes have started.
	Running Phase = "Running"
	// Succeeded means that the TrainJob has ended without a failure.
	Succeeded Phase = "Succeeded"
	// Failed means that the TrainJob has ended with a failure.
	Failed Phase = "Failed"
	// Suspended means that spec.suspend is true. Users set this field to stop a TrainJob. Kueue sets it while a TrainJob waits in a
	// queue.
	Suspended Phase = "Suspended"
)

// Phase returns the current phase of the TrainJob.
func (v View) Phase() Phase {
	pods := v.LatestAttempts()
	switch outcome := v.Outcome(); {
	case outcome.Condition == trainer.TrainJobComplete:
		return Succeeded
	case outcome.Condition == trainer.TrainJobFailed:
		return Failed
	case v.isSuspended():
		return Suspended
	case len(pods) == 0:
		return Pending
	case v.hasStarted(pods):
		return Running
	case slices.ContainsFunc(pods, func(p Pod) bool { return !p.isScheduled() }):
		return GangScheduling
	}
	return Initializing
}

func (v View) isSuspended() bool { return v.Job.Spec.Suspend != nil && *v.Job.Spec.Suspend }

// hasStarted reports whether mpirun runs or has ended. TrainJobs without MPI have no launcher; for them, hasStarted reports
// whether the main containers of all nodes run or have ended.
func (v View) hasStarted(pods []Pod) bool {
	if v.hasLauncher() {
		return slices.ContainsFunc(pods, func(p Pod) bool { return p.Role == Launcher && p.mainHasStarted() })
	}
	nodes := slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return p.Role != Node })
	waiting := slices.ContainsFunc(nodes, func(p Pod) bool { return !p.mainHasStarted() })
	return len(nodes) >= v.wantedNodes() && !waiting
}

// wantedNodes returns the number of nodes that the TrainJob requests, or 1 if the runtime decides about the number.
func (v View) wantedNodes() int {
	if v.Job.Spec.Trainer == nil {
		return 1
	}
	return int(ptr.Deref(v.Job.Spec.Trainer.NumNodes, 1))
}

// hasLauncher reports whether the TrainJob has a launcher, which may not have a pod yet.
func (v View) hasLauncher() bool {
	return len(v.PodsOf(Launcher)) > 0 ||
		slices.ContainsFunc(v.Job.Status.JobsStatus, func(s trainer.JobStatus) bool { return s.Name == string(Launcher) })
}

// isScheduled reports whether the pod is assigned to a cluster node.
func (p Pod) isScheduled() bool { return p.Spec.NodeName != "" }

func (p Pod) mainHasStarted() bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == MainContainer && (c.State.Running != nil || c.State.Terminated != nil)
	})
}
