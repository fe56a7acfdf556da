package jobs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// progress holds times and pods of a TrainJob. isOver uses these times and pods to decide whether the problem that an
// event describes is solved.
type progress struct {
	// The field "training" is the time of the latest start of the training, or zero if the training has not started.
	training time.Time
	// The field "failure" is the time at which the TrainJob began to fail, or zero if the TrainJob has not failed.
	failure time.Time
	// The field "placed" is the time of the latest event which says that a pod was scheduled, or that a container
	// started.
	placed time.Time
	// The field "attempt" is the result of attemptedAt, and the field "relevant" is the result of relevantPods.
	attempt  time.Time
	relevant []Pod
	// The field "latest" is a map. Each key is a pair of an object and the reason of an event. The value is the time of
	// the latest event with this object and this reason.
	latest map[subject]time.Time
}

// evicted is the reason of the event that Kubernetes writes when it evicts a pod because of a taint. Kubernetes uses
// the same reason when it cancels such an eviction. To distinguish the two kinds of events, findProgress replaces the
// reason of a cancellation with the constant "cancelled".
const (
	evicted   = "TaintManagerEviction"
	cancelled = evicted + ": cancelled"
)

func isCancelled(e corev1.Event) bool {
	return strings.HasPrefix(e.Message, "Cancelling deletion of Pod ")
}

// findProgress returns the progress of the TrainJob. The argument "events" must be sorted by time. If the launcher's
// pod was deleted, its status is unknown, so findProgress also searches the events for the start of the training.
func (s Snapshot) findProgress(events []corev1.Event) progress {
	p := progress{training: s.startedAt(), attempt: s.attemptedAt(), relevant: s.relevantPods(), latest: map[subject]time.Time{}}
	for _, e := range events {
		about, seen := subjectOf(e), lastSeen(e)
		if isCancelled(e) {
			about.reason = cancelled
		}
		p.latest[about] = seen
		hasStarted := e.Reason == "Started"
		if (hasStarted || e.Reason == "Scheduled") && s.podNameOf(e) != "" {
			p.placed = seen
		}
		if hasStarted && s.roleOf(e) == Launcher && isAboutMain(e) {
			p.training = later(p.training, seen)
		}
	}
	p.failure = s.failedAt(p.training)
	return p
}

func (p progress) isRelevant(pod Pod) bool {
	return slices.ContainsFunc(p.relevant, func(other Pod) bool { return other.Name == pod.Name })
}

// follows(e, reason) reports whether an event with this reason occurred at the same time as the event e, or later. Both
// events must be about the same object.
func (p progress) follows(e corev1.Event, reason string) bool {
	about := subjectOf(e)
	about.reason = reason
	at, found := p.latest[about]
	return found && !at.Before(lastSeen(e))
}

// failedAt returns the time at which a TrainJob began to fail. This is the earliest time, after the start of the
// training, at which a container ended with an error. It is possible that no container ended with an error between the
// start of the training and the condition Failed. In this case, failedAt returns the time of the condition Failed. If
// the TrainJob has not failed, failedAt returns zero.
func (s Snapshot) failedAt(training time.Time) time.Time {
	if s.Phase() != Failed {
		return time.Time{}
	}
	first := s.Times().Ended
	for _, pod := range s.LatestAttempts() {
		for _, c := range pod.containers() {
			ended := c.State.Terminated
			if ended == nil || ended.ExitCode == 0 || ended.FinishedAt.Time.Before(training) {
				continue
			}
			if at := ended.FinishedAt.Time; !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}

// isOver reports whether the problem that an event describes is solved. Most problems count as solved if the training
// started after the event. If the event is about a deleted pod, or about an object that is not a pod, a second
// condition is also sufficient: the current attempt to run the TrainJob began after the event. In all other cases,
// isOver looks for later changes that solve the problem. These changes depend on the kind of the object and the reason
// of the event.
func (s Snapshot) isOver(e corev1.Event, p progress) bool {
	seen := lastSeen(e)
	pod, exists := s.podOf(e)
	switch {
	case isCancelled(e):
		return true
	case exists && e.Reason == "NodeNotReady": // the start of other pods does not show that this cluster node recovered
		return !p.isRelevant(pod) || s.hasRecovered(e, p)
	case seen.Before(p.training), !exists && seen.Before(p.attempt):
		return true
	case exists:
		return pod.hasSolved(e, p)
	case e.InvolvedObject.Kind == podKind:
		return s.isOverForDeleted(e, p)
	}
	return s.isOverForOwner(e, p)
}

// isOverForOwner reports whether the problem that an event describes is solved. The event must be about a TrainJob,
// JobSet, Job, PodGroup or Workload.
func (s Snapshot) isOverForOwner(e corev1.Event, p progress) bool {
	isPlaced := !p.placed.Before(lastSeen(e))
	switch e.InvolvedObject.Kind {
	case "Workload":
		isAdmitted := !s.isSuspended() && s.Outcome() == (Outcome{})
		return isAdmitted || e.Reason == "Pending" && s.Workload.isInactive()
	case "PodGroup":
		return isPlaced || s.allScheduled()
	case jobKind:
		return s.hasAllPods(s.roleOf(e)) || p.latest[subject{jobKind, e.InvolvedObject.Name, "SuccessfulCreate"}].After(lastSeen(e))
	}
	// The event is about the TrainJob or the JobSet. The problem is solved if a later event or a newer pod shows that
	// the JobSet creates pods. The problem of an inactive Workload is also solved if the Workload is active again.
	return isPlaced || s.HasPodSince(lastSeen(e)) || s.Workload.isActive() && strings.Contains(e.Message, "workload is deactivated")
}

func (s Snapshot) allScheduled() bool {
	pods := s.LatestAttempts()
	return len(pods) > 0 && !slices.ContainsFunc(pods, func(pod Pod) bool { return !pod.isScheduled() })
}

// podOf returns the pod that an event is about. The result "exists" is false if the event is not about a pod, or if the pod
// was deleted. podOf finds the pod by its UID. Events about evictions contain no UID, so podOf finds the pods of these
// events by name.
func (s Snapshot) podOf(e corev1.Event) (pod Pod, exists bool) {
	object := e.InvolvedObject
	for i := range s.Pods {
		if pod := &s.Pods[i]; object.Kind == podKind && (pod.UID == object.UID || object.UID == "" && pod.Name == object.Name) {
			return *pod, true
		}
	}
	return Pod{}, false
}

// restartLabel is a label of every pod of a JobSet (jobset/pkg/constants). The value is the number of times that JobSet had
// restarted all pods before it created this pod.
const restartLabel = "jobset.sigs.k8s.io/restart-attempt"

// attemptedAt returns the time at which the current attempt to run the TrainJob began. A new attempt begins when the
// TrainJob is resumed, or when JobSet restarts all pods. attemptedAt returns the time of the last resumption or restart,
// or zero if there was none. The time of a restart is the creation time of the oldest pod that JobSet created in this
// restart.
func (s Snapshot) attemptedAt() time.Time {
	var began time.Time
	if since := s.resumedAt(); since.After(s.Job.CreationTimestamp.Time) {
		began = since
	}
	restarts, oldest := 0, time.Time{}
	for _, pod := range s.Pods {
		n, _ := strconv.Atoi(pod.Labels[restartLabel]) // 0 if JobSet did not set the label
		created := pod.CreationTimestamp.Time
		if n > restarts || n == restarts && created.Before(oldest) {
			restarts, oldest = n, created
		}
	}
	return later(began, oldest)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

var (
	// mountReasons lists the reasons of events about volumes that cannot be mounted. The kubelet mounts all volumes before
	// it starts the first container, so these problems are solved when a container has started. Later events with these
	// reasons report that the update of a volume failed. Such a failure does not stop the pod.
	mountReasons = []string{"FailedMount", "FailedAttachVolume"}
	// startReasons lists the reasons of events about containers that cannot start.
	startReasons = []string{"Failed", "BackOff", "ErrImageNeverPull", "InspectFailed", "FailedCreatePodSandBox"}
)

// hasSolved reports whether the later state of a pod shows that the problem of an event is solved. Depending on the reason
// of the event, the pod must be scheduled, started or ready. A mount error is also solved if hasMounted returns true. An
// eviction is never solved.
func (p Pod) hasSolved(e corev1.Event, all progress) bool {
	switch {
	case e.Reason == "FailedScheduling":
		return p.isScheduled()
	case slices.Contains(mountReasons, e.Reason):
		return p.hasStarted() || all.hasMounted(e)
	case slices.Contains(startReasons, e.Reason):
		return p.hasStarted()
	}
	return e.Reason != evicted && p.isReady()
}

// isOverForDeleted reports whether the problem of a deleted pod is solved. The status of a deleted pod is unknown, so
// isOverForDeleted looks for later events about the pod. The problem is also solved if isReplaced returns true.
func (s Snapshot) isOverForDeleted(e corev1.Event, p progress) bool {
	switch {
	case s.isReplaced(e):
		return true
	case e.Reason == "NodeNotReady":
		return s.hasRecovered(e, p)
	case e.Reason == "FailedScheduling":
		return p.follows(e, "Scheduled")
	case slices.Contains(mountReasons, e.Reason):
		return p.hasMounted(e)
	case slices.Contains(startReasons, e.Reason): // after a BackOff, a container that started can fail again
		return e.Reason != "BackOff" && p.follows(e, "Started")
	}
	return false
}

// hasMounted reports whether a mount error no longer matters. A mount error no longer matters in two cases. In the
// first case, a container of the pod has started. In the second case, the mount error occurred because the pod was
// being deleted. For such a pod, the kubelet writes "not registered" about the Secrets and ConfigMaps of the pod.
// hasMounted assumes the second case if the message of the event says "not registered" about every object that the
// message names.
func (p progress) hasMounted(e corev1.Event) bool {
	_, hasStarted := p.latest[subject{podKind, e.InvolvedObject.Name, "Started"}]
	unknown := strings.Count(e.Message, " not registered")
	return hasStarted || unknown > 0 && unknown == strings.Count(e.Message, "object \"")
}

// isReplaced reports whether a new pod has replaced the deleted pod that an event is about. The new pod has the same
// role and index, and is not older than the event. If the TrainJob has ended, isReplaced returns false even if there is
// a new pod. The reason is that the new pod came too late if the loss of the deleted pod made the TrainJob fail.
func (s Snapshot) isReplaced(e corev1.Event) bool {
	name := s.podNameOf(e)
	prefix := name[:strings.LastIndex(name, "-")+1] // without the random characters
	return s.Outcome() == (Outcome{}) && prefix != "" && slices.ContainsFunc(s.Pods, func(p Pod) bool {
		return strings.HasPrefix(p.Name, prefix) && !p.CreationTimestamp.Time.Before(lastSeen(e))
	})
}

// evictionDelay is the default time for which Kubernetes waits before it deletes the pods of a cluster node that is not
// ready.
const evictionDelay = 5 * time.Minute

// hasRecovered reports whether the cluster node of a pod became ready again after an event NodeNotReady. There are
// three signs, and one sign is sufficient. Sign 1: the pod is ready. Sign 2: Kubernetes cancelled the eviction of the
// pod. The comment inside the function hasRecovered explains which cancellations count. Sign 3: a container of the pod
// ended for a known reason. The reasons in the list unknownEnds count as unknown. The time between the event and the
// end of the container must be longer than evictionDelay. If the TrainJob has failed, sign 1 counts only if the pod
// became ready before the failure. Likewise, sign 2 counts only if Kubernetes cancelled the eviction before the
// failure. Sign 3 does not count if the TrainJob failed within evictionDelay after the event. These three restrictions
// have the same reason. If the cluster node became ready only after the TrainJob failed, the cluster node may have
// caused the failure.
func (s Snapshot) hasRecovered(e corev1.Event, p progress) bool {
	isInTime := func(at time.Time) bool { return p.failure.IsZero() || at.Before(p.failure) }
	pod, exists := s.podOf(e)
	if at, found := p.latest[subject{podKind, e.InvolvedObject.Name, cancelled}]; found && isInTime(at) {
		// A cancelled eviction alone does not show that the cluster node is ready. Kubernetes also cancels a planned
		// eviction in two cases in which the cluster node may not be ready. In the first case, Kubernetes replaces the
		// planned eviction with an immediate eviction. In the second case, the pod is deleted. Therefore the
		// cancellation counts only if no event about an eviction follows the cancellation. For a deleted pod, there is
		// a second condition. An event with the reason Killing must follow the cancellation, because this event shows
		// that the kubelet works.
		isEvicted := !p.latest[subject{podKind, e.InvolvedObject.Name, evicted}].Before(at)
		isStopped := !p.latest[subject{podKind, e.InvolvedObject.Name, "Killing"}].Before(at)
		if p.follows(e, cancelled) && !isEvicted && (exists || isStopped) {
			return true
		}
	}
	if at, ready := pod.readySince(); ready && isInTime(at) {
		return true
	}
	evictedAt := lastSeen(e).Add(evictionDelay)
	return (p.failure.IsZero() || p.failure.After(evictedAt)) && pod.hasEndAfter(evictedAt)
}

// hasEndAfter reports whether a container ended after the given time, and ended for a reason that is not in
// unknownEnds.
func (p Pod) hasEndAfter(at time.Time) bool {
	return slices.ContainsFunc(p.containers(), func(c corev1.ContainerStatus) bool {
		ended := c.State.Terminated
		return ended != nil && ended.FinishedAt.After(at) && !slices.Contains(unknownEnds, ended.Reason)
	})
}

// unknownEnds lists the reasons that the kubelet and containerd report for a container that ended while its cluster
// node was down.
var unknownEnds = []string{"Unknown", "ContainerStatusUnknown"}
