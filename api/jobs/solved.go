package jobs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// progress holds the events that can show that the problem of an earlier event is solved.
type progress struct {
	// training is the time at which the training last started, or zero if it has not started.
	training time.Time
	// failure is the time at which the first container of a failed TrainJob ended with an error, or zero.
	failure time.Time
	// latest maps each object and reason to the time of the latest event.
	latest map[subject]time.Time
}

// cancelled stands for the reason TaintManagerEviction in events which say that a pod is not evicted after all.
// Kubernetes uses the reason TaintManagerEviction also for events which say that a pod is evicted.
const cancelled = "TaintManagerEviction: cancelled"

func isCancelled(e corev1.Event) bool {
	return strings.HasPrefix(e.Message, "Cancelling deletion of Pod ")
}

// findProgress reads events that are sorted by time. The status of a deleted launcher is unknown, so findProgress reads
// the start of the training also from the events of the launcher's pods.
func (s Snapshot) findProgress(events []corev1.Event) progress {
	p := progress{training: s.startedAt(), failure: s.failedAt(), latest: map[subject]time.Time{}}
	for _, e := range events {
		about := subjectOf(e)
		if isCancelled(e) {
			about.reason = cancelled
		}
		p.latest[about] = lastSeen(e)
		if e.Reason == "Started" && s.roleOf(e) == Launcher && e.InvolvedObject.FieldPath == "spec.containers{"+MainContainer+"}" {
			p.training = later(p.training, lastSeen(e))
		}
	}
	return p
}

// follows reports whether an event with the given reason, about the same object, comes after the event e or in the same second.
func (p progress) follows(e corev1.Event, reason string) bool {
	about := subjectOf(e)
	about.reason = reason
	at, found := p.latest[about]
	return found && !at.Before(lastSeen(e))
}

// failedAt returns the time at which the first container of a failed TrainJob ended with an error. failedAt returns zero if
// the TrainJob has not failed, or if the time is unknown.
func (s Snapshot) failedAt() time.Time {
	if s.Phase() != Failed {
		return time.Time{}
	}
	for _, c := range s.candidates() { // the failed containers come first, in the order in which they ended
		return c.ended
	}
	return time.Time{}
}

// isOver reports whether the problem that an event describes is solved. Every problem is solved if the training started
// after the event, or if the event belongs to an earlier attempt to run the TrainJob. Otherwise, the kind of the object
// determines which progress solves the problem.
func (s Snapshot) isOver(e corev1.Event, p progress) bool {
	seen := lastSeen(e)
	if isCancelled(e) || seen.Before(p.training) || seen.Before(s.attemptedAt()) {
		return true
	}
	switch e.InvolvedObject.Kind {
	case "Pod":
		return s.isOverForPod(e, p)
	case "Workload":
		isAdmitted := !s.isSuspended() && s.Outcome() == (Outcome{})
		return isAdmitted || e.Reason == "Pending" && s.Workload.isInactive()
	case "PodGroup":
		return len(s.Pods) > 0 && !slices.ContainsFunc(s.LatestAttempts(), func(pod Pod) bool { return !pod.isScheduled() })
	case "Job":
		return s.hasAllPods(s.roleOf(e)) || p.latest[subject{"Job", e.InvolvedObject.Name, "SuccessfulCreate"}].After(seen)
	}
	return s.HasPodSince(seen) // JobSet exists, because its Jobs have created a pod
}

// restartLabel is a label of every pod of a JobSet (jobset/pkg/constants). Its value says how many times JobSet had restarted
// all pods when it created this pod.
const restartLabel = "jobset.sigs.k8s.io/restart-attempt"

// attemptedAt returns the time at which the current attempt to run the TrainJob began: the time at which the TrainJob was
// last resumed or, if JobSet has restarted all pods since, the creation of the oldest new pod. attemptedAt returns zero for
// the first attempt.
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
	// mountReasons lists the reasons of events about volumes that cannot be mounted. The kubelet mounts all volumes before it
	// starts a container, and again later to update them, so these problems are solved when any container has started.
	mountReasons = []string{"FailedMount", "FailedAttachVolume"}
	// startReasons lists the reasons of events about containers that cannot start.
	startReasons = []string{"Failed", "BackOff", "ErrImageNeverPull", "InspectFailed", "FailedCreatePodSandBox"}
)

// isOverForPod reports whether the problem of a pod is solved. The pod must be scheduled, have started or be ready, depending
// on the reason of the event. The status of a deleted pod is unknown, so isOverForPod looks for later events about it. A
// problem is also solved if a new pod has replaced the deleted pod, and the TrainJob has not ended.
func (s Snapshot) isOverForPod(e corev1.Event, p progress) bool {
	i := slices.IndexFunc(s.Pods, func(pod Pod) bool { return pod.UID == e.InvolvedObject.UID })
	exists := i >= 0
	switch {
	case e.Reason == "NodeNotReady":
		return s.hasRecovered(e, p)
	case slices.Contains(mountReasons, e.Reason):
		_, hasStarted := p.latest[subject{"Pod", e.InvolvedObject.Name, "Started"}]
		return hasStarted || exists && s.Pods[i].hasStarted() || isUnregistered(e)
	case !exists && s.isReplaced(e):
		return true
	case e.Reason == "FailedScheduling":
		return exists && s.Pods[i].isScheduled() || !exists && p.follows(e, "Scheduled")
	case slices.Contains(startReasons, e.Reason) && exists:
		return s.Pods[i].hasStarted()
	case slices.Contains(startReasons, e.Reason): // after a BackOff, a container that started can fail again
		return e.Reason != "BackOff" && p.follows(e, "Started")
	}
	return exists && s.Pods[i].isReady()
}

// isUnregistered reports whether the kubelet could not mount a volume only because the pod was being deleted. For such a pod,
// the kubelet no longer knows the Secrets and ConfigMaps.
func isUnregistered(e corev1.Event) bool { return strings.HasSuffix(e.Message, " not registered") }

// isReplaced reports whether a new pod has the same role and index as the deleted pod of an event. If the TrainJob has
// ended, isReplaced returns false, because the loss of the deleted pod can be the cause of a failure.
func (s Snapshot) isReplaced(e corev1.Event) bool {
	name := s.podNameOf(e)
	prefix := name[:strings.LastIndex(name, "-")+1] // without the random characters
	return s.Outcome() == (Outcome{}) && prefix != "" && slices.ContainsFunc(s.Pods, func(p Pod) bool {
		return strings.HasPrefix(p.Name, prefix) && !p.CreationTimestamp.Time.Before(lastSeen(e))
	})
}

// hasRecovered reports whether the cluster node of a pod became ready again after an event NodeNotReady, and before the
// TrainJob failed. There are three signs that the cluster node is ready again: the pod is ready, the kubelet has reported the
// end of a container, or Kubernetes has cancelled the eviction of the pod.
func (s Snapshot) hasRecovered(e corev1.Event, p progress) bool {
	isInTime := func(at time.Time) bool { return p.failure.IsZero() || at.Before(p.failure) }
	if at := p.latest[subject{"Pod", e.InvolvedObject.Name, cancelled}]; p.follows(e, cancelled) && isInTime(at) {
		return true
	}
	for _, pod := range s.Pods {
		if pod.UID != e.InvolvedObject.UID {
			continue
		}
		if at, ready := pod.readySince(); ready && isInTime(at) {
			return true
		}
		return slices.ContainsFunc(pod.containers(), func(c corev1.ContainerStatus) bool {
			ended := c.State.Terminated
			return ended != nil && ended.FinishedAt.After(lastSeen(e)) && !slices.Contains(unknownEnds, ended.Reason)
		})
	}
	return false
}

// unknownEnds lists the reasons with which the kubelet and containerd report containers that ended while the cluster
// node did not work.
var unknownEnds = []string{"Unknown", "ContainerStatusUnknown"}
