package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

// stopReasons lists the reasons with which Kueue and Kubernetes report that they stopped pods. Events with
// these reasons can have the type Normal, so the function "failures" selects them by their reasons.
var stopReasons = []string{"Stopped", "Preempted", "EvictedDueToPreempted", "EvictedDueToPodsReadyTimeout", "TaintManagerEviction"}

// EventReporter is the name under which trainyard-controller writes its events about TrainJobs. The diagnosis leaves out
// these events, because they repeat an earlier diagnosis.
const EventReporter = "trainjob"

// eventTexts returns the messages of events that can explain a failure of the TrainJob.
func (s Snapshot) eventTexts(ctx context.Context, reader Reader) ([]diagnosis.Text, error) {
	events, err := reader.Events(ctx, s.Job.Namespace)
	if err != nil {
		return nil, err
	}
	var texts []diagnosis.Text
	for _, e := range s.failures(events) {
		texts = append(texts, diagnosis.Text{
			Source: diagnosis.Cluster, From: fmt.Sprintf("event %s of %s %s", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name),
			Pod: s.podNameOf(e), Time: lastSeen(e), Message: joinReason(e.Reason, e.Message),
		})
	}
	return texts, nil
}

// failures returns the events about problems that are not solved yet. The argument "events" must be sorted by time, with
// the oldest event first. If several events about one object have the same reason, failures returns only the latest event,
// because the messages of the earlier events no longer apply.
func (s Snapshot) failures(events []corev1.Event) []corev1.Event {
	type subject struct{ kind, name, reason string }
	seen := map[subject]bool{}
	progress := progressOf(events)
	var found []corev1.Event
	for _, e := range slices.Backward(events) {
		isFailure := e.ReportingController != EventReporter && (e.Type == corev1.EventTypeWarning || slices.Contains(stopReasons, e.Reason))
		about := subject{e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason}
		if isFailure && s.concerns(e) && !s.isOver(e, progress) && !seen[about] {
			seen[about] = true
			found = append(found, e)
		}
	}
	slices.Reverse(found)
	return found
}

// concerns returns true if an event is about the TrainJob, or about an object that belongs to the TrainJob. Events stay
// after their object is deleted, so there can be events about an earlier TrainJob with the same name. For events about an
// earlier TrainJob, concerns returns false.
func (s Snapshot) concerns(e corev1.Event) bool {
	if lastSeen(e).Before(s.Job.CreationTimestamp.Time) {
		return false
	}
	object := e.InvolvedObject
	switch object.Kind {
	case "Pod":
		return s.podNameOf(e) != ""
	case trainer.TrainJobKind:
		return object.Name == s.Job.Name && (object.UID == "" || object.UID == s.Job.UID)
	case "JobSet", "PodGroup":
		return object.Name == s.Job.Name
	case "Job":
		return slices.Contains(s.jobNames(), object.Name)
	case "Workload": // Kueue appends a hash to the name
		hash, found := strings.CutPrefix(object.Name, "trainjob-"+s.Job.Name+"-")
		return found && !strings.Contains(hash, "-")
	}
	return false
}

// startReasons lists the reasons with which an event reports that a container cannot start.
var startReasons = []string{"Failed", "BackOff", "ErrImageNeverPull", "InspectFailed", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"}

// isOver reports whether the problem that an event describes is solved. Every problem is solved if the training started
// after the event. The problem of a pod is also solved if the pod has made progress: the pod is scheduled, has started or
// is ready, depending on the reason of the event. The status of a deleted pod is unknown, so isOver looks for progress in
// the later events of the pod.
func (s Snapshot) isOver(e corev1.Event, progress map[podEvent]time.Time) bool {
	if started := s.startedAt(); !started.IsZero() && lastSeen(e).Before(started) {
		return true
	}
	i := slices.IndexFunc(s.Pods, func(p Pod) bool { return p.UID == e.InvolvedObject.UID })
	switch {
	case i < 0:
		return isFollowedByProgress(e, progress)
	case e.Reason == "FailedScheduling":
		return s.Pods[i].isScheduled()
	case slices.Contains(startReasons, e.Reason):
		return s.Pods[i].hasStarted()
	}
	return s.Pods[i].isReady()
}

// podEvent is the key for events with the same pod and the same reason.
type podEvent struct {
	pod    types.UID
	reason string
}

// progressOf returns two times for each pod: the time of the latest event Scheduled, and the time
// of the latest event Started.
func progressOf(events []corev1.Event) map[podEvent]time.Time {
	latest := map[podEvent]time.Time{}
	for _, e := range events {
		if e.Reason == "Scheduled" || e.Reason == "Started" {
			latest[podEvent{e.InvolvedObject.UID, e.Reason}] = lastSeen(e)
		}
	}
	return latest
}

// isFollowedByProgress reports whether a later event shows that the problem in the event e is solved. If e has the
// reason FailedScheduling, the later event must be Scheduled. If e has a reason in startReasons, the later event
// must be Started. BackOff is an exception: isFollowedByProgress returns false, because a container that started
// can fail again. For all other reasons, it also returns false.
func isFollowedByProgress(e corev1.Event, progress map[podEvent]time.Time) bool {
	wanted := "Started"
	switch {
	case e.Reason == "FailedScheduling":
		wanted = "Scheduled"
	case e.Reason == "BackOff" || !slices.Contains(startReasons, e.Reason):
		return false
	}
	at, found := progress[podEvent{e.InvolvedObject.UID, wanted}]
	return found && !at.Before(lastSeen(e))
}

// startedAt returns the time at which the training started: the start of the launcher's main container or, without a
// launcher, the latest start of a main container. startedAt returns zero if the training has not started, or if the pods of
// the TrainJob no longer exist.
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
		for _, c := range pod.Status.ContainerStatuses {
			if start := startOf(c); c.Name == MainContainer && start.After(latest) {
				latest = start
			}
		}
	}
	return latest
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

// hasStarted reports whether a container of the pod runs or has ended, without counting init containers.
func (p Pod) hasStarted() bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil
	})
}

func (p Pod) isReady() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// jobNames returns the names of the Jobs of the TrainJob.
func (s Snapshot) jobNames() []string {
	names := jobNames(s.Job.Name)
	for _, status := range s.Job.Status.JobsStatus {
		names = append(names, fmt.Sprintf("%s-%s-0", s.Job.Name, status.Name))
	}
	return names
}

// podNameOf returns the name of the pod that an event is about, or an empty string if the pod does not belong to the
// TrainJob. podNameOf recognizes a pod by its name: the name of the Job, an index and five random characters.
// podNameOf therefore also recognizes pods that were deleted.
func (s Snapshot) podNameOf(e corev1.Event) string {
	if e.InvolvedObject.Kind != "Pod" {
		return ""
	}
	for _, job := range s.jobNames() {
		rest, found := strings.CutPrefix(e.InvolvedObject.Name, job+"-")
		index, random, hasIndex := strings.Cut(rest, "-")
		if found && hasIndex && strings.Trim(index, "0123456789") == "" && !strings.Contains(random, "-") {
			return e.InvolvedObject.Name
		}
	}
	return ""
}
