package trainjob

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// maxMessage is the maximum length of a message, in characters.
const maxMessage = 1000

// state contains the values that the controller reports about a TrainJob, or needs for the next report.
type state struct {
	Phase   jobs.Phase
	Message string
	// The field "blocked" is set while a container, such as a sidecar, keeps the TrainJob from ending. Its value is the
	// time at which the main container ended. If no container keeps the TrainJob from ending, the field is zero.
	blocked time.Time
	// trainingSince is the time of the last start of the training, or zero if the controller has not seen a start.
	trainingSince time.Time
	// lostSince is the time at which the controller noticed that a pod of a running training is
	// missing. lostSince is zero if the controller has not noticed a missing pod.
	lostSince time.Time
	// wasSuspended is true while the TrainJob is suspended. After the TrainJob was resumed, wasSuspended stays
	// true as long as the TrainJob has the annotation about a gang timeout.
	wasSuspended bool
	// "since" is the time at which the controller first saw the current phase. If the phase may have begun before the
	// controller started, the field "since" is zero.
	since time.Time
	// The field "waiting" is the time at which pods began to wait for cluster nodes, or zero if no pods wait.
	waiting time.Time
	// started is true if the training has started at least once. JobSet can restart all pods, and then the training starts again.
	started bool
	// "cause" is the most probable cause of a failure or of a wait, or nil. If "explained" is true, the cause is not
	// expected to change soon, so the message is refreshed less often.
	cause     *jobs.Cause
	explained bool
	// The field "ending" is true if a pod is being deleted.
	ending bool
	// The field "elsewhere" is true if another cluster runs the TrainJob.
	elsewhere bool
	// queued is true if the TrainJob is in a queue of Kueue.
	queued bool
	// ended is true after the TrainJob has ended. If the controller searches for the cause of a failure, the field
	// stays false until the search has ended.
	ended bool
}

// isFinal reports whether the TrainJob has ended.
func (s state) isFinal() bool { return s.Phase == jobs.Succeeded || s.Phase == jobs.Failed }

// refresh returns the time after which the controller must observe the state again, even if no event
// arrives. If the controller only needs to wait for events, refresh returns 0.
func (s state) refresh() time.Duration {
	switch {
	case s.isFinal(), s.elsewhere && isEarly(s.Phase), s.Phase == jobs.Running && s.isUndisturbed(), s.Phase == jobs.Suspended && !s.queued:
		return 0
	case s.explained:
		return explainInterval
	}
	return refreshInterval
}

// isUndisturbed reports whether three conditions are met. First, the controller has not noticed a missing pod. Second,
// no pod is being deleted. Third, no other container still runs in a pod whose main container has ended. If one of
// these conditions is not met, the phase or the message of a TrainJob in the phase Running can change without an event.
// For example, a pod that is being deleted counts as lost after some time, and no event reports this loss.
func (s state) isUndisturbed() bool { return s.blocked.IsZero() && s.lostSince.IsZero() && !s.ending }

// observe returns the current state of a TrainJob.
func (c *Controller) observe(snapshot jobs.Snapshot, before state, now time.Time) state {
	current := state{Phase: snapshot.Phase(), Message: snapshot.Summary(), queued: snapshot.Queue() != "", elsewhere: snapshot.ManagedElsewhere(), ending: snapshot.HasEndingPods(), blocked: snapshot.BlockedSince()}
	switch {
	case current.isFinal() && before.Phase == current.Phase && before.ended:
		return before // keep the message, because the pods and logs that explain it can be deleted by now
	case before.Phase == jobs.Running && isEarly(current.Phase) && !snapshot.HasPodSince(before.trainingSince):
		// A pod was deleted. JobSet has not reacted yet: either the TrainJob will fail, or JobSet will restart all
		// pods. Keep the previous state until JobSet reacts. However, do not keep this state for longer than the
		// duration startTime.
		if lost := before.withoutPod(now); now.Sub(lost.lostSince) < startTime {
			return lost
		}
	}
	current.wasSuspended = current.Phase == jobs.Suspended || before.wasSuspended && snapshot.Job.Annotations[v1alpha1.TimedOutAnnotation] != ""
	current.trainingSince = snapshot.Times().Started
	current.waiting = waitsSince(snapshot, current.Phase, before, now)
	current.since = c.beginOfPhase(snapshot, current.Phase, before, now)
	current.started = before.started || !snapshot.Times().Started.IsZero() || current.Phase == jobs.Succeeded
	c.explain(&current, snapshot, c.isOld(snapshot, before, now), now)
	return current
}

// explain adds a cause to a state as soon as the cause is known. The cause says why the TrainJob has failed, or why it
// waits for a long time. If the argument "isOld" is true, the method "explain" adds no cause.
func (c *Controller) explain(s *state, snapshot jobs.Snapshot, isOld bool, now time.Time) {
	switch {
	case isOld, s.Phase == jobs.Succeeded:
		s.ended = s.isFinal()
	case s.Phase == jobs.Failed:
		s.cause, s.ended = c.explanations.get(&snapshot.Job, s.Phase)
	case s.isStuck(snapshot, now):
		s.cause, s.explained = c.explanations.get(&snapshot.Job, s.Phase)
		s.explained = s.explained && s.Phase != jobs.GangScheduling && s.Phase != jobs.Running
	default: // an explanation of an earlier wait no longer applies
		c.explanations.forget(types.NamespacedName{Namespace: snapshot.Job.Namespace, Name: snapshot.Job.Name})
	}
	if s.cause != nil {
		s.Message = message.Shorten(s.describe(), maxMessage)
	}
}

// beginOfPhase returns the time at which the controller first saw the current phase. If the phase may have begun before
// the controller started, beginOfPhase returns zero.
func (c *Controller) beginOfPhase(snapshot jobs.Snapshot, phase jobs.Phase, before state, now time.Time) time.Time {
	switch {
	case phase == before.Phase:
		return before.since
	case before.Phase == "" && snapshot.Job.CreationTimestamp.Time.Before(c.began):
		return time.Time{}
	}
	return now
}

// withoutPod returns a copy of the previous state of a TrainJob. The controller calls withoutPod if a running training
// has lost a pod. If the field lostSince of the previous state is zero, withoutPod sets lostSince in the copy to the
// current time.
func (s state) withoutPod(now time.Time) state {
	if s.lostSince.IsZero() {
		s.lostSince = now
	}
	return s
}

// isEarly reports whether a phase comes before Running, and is not Suspended.
func isEarly(phase jobs.Phase) bool {
	return phase == jobs.Pending || phase == jobs.GangScheduling || phase == jobs.Initializing
}

// waitsSince returns the time at which pods began to wait for cluster nodes, or zero if no pods wait. A TrainJob also
// waits while pods are missing, for example because a quota prevents their creation. If the TrainJob waits only for
// missing pods, waitsSince returns the time in the field "waiting" of the previous state. If this field is zero,
// waitsSince returns the current time. While old pods end, or while the TrainJob is being deleted, no new pods are
// expected. waitsSince then ignores missing pods.
func waitsSince(snapshot jobs.Snapshot, phase jobs.Phase, before state, now time.Time) time.Time {
	since := snapshot.GangWait()
	if phase != jobs.GangScheduling || !since.IsZero() {
		return since
	}
	if snapshot.AwaitsPodEnds() || !snapshot.Job.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	if before.Phase == phase && !before.waiting.IsZero() {
		return before.waiting
	}
	return now
}

// isStuck reports whether a TrainJob takes unusually long to start or to end. In both cases, the limit is the duration
// startTime. A TrainJob takes too long to start if two conditions are met. First, the TrainJob was created or resumed
// more than startTime ago. Second, the present phase began more than startTime ago. The second condition is necessary
// because JobSet can restart all pods long after the creation of the TrainJob. After a restart, the new pods need time
// to start. If another container still runs after the main container of its pod has ended, this container can prevent
// the TrainJob from ending. In this case, the TrainJob takes too long to end if the main container ended more than
// startTime ago. In the phase GangScheduling, isStuck returns true only if pods are missing. A TrainJob without missing
// pods can also be in the phase GangScheduling. The reason is then that some existing pods are not assigned to cluster
// nodes yet. If the scheduler has written a message about one of these pods, the summary of this TrainJob already
// quotes the message. The TrainJob therefore needs no further explanation. If another cluster runs the TrainJob,
// isStuck returns false.
func (s state) isStuck(snapshot jobs.Snapshot, now time.Time) bool {
	since := snapshot.Times().Resumed
	if !since.IsZero() && s.since.After(since) {
		since = s.since
	}
	if s.Phase == jobs.Running {
		since = snapshot.BlockedSince()
	}
	waits := s.Phase == jobs.Pending || s.Phase == jobs.Initializing || s.Phase == jobs.Running || s.Phase == jobs.GangScheduling && snapshot.LacksPods()
	return waits && !snapshot.ManagedElsewhere() && !since.IsZero() && now.Sub(since) > startTime
}

// startTime is a time limit. The pods of a TrainJob are normally created and started within this limit. After the main
// container of a pod has ended, the other containers of the pod normally also end within this limit.
const startTime = 30 * time.Second

// describe returns a text that explains a state. The text contains the code of the cause, the affected pod or object, the
// cause, the remedy, and the evidence. If the TrainJob has not ended, the text begins with the message of the state,
// which says, for example, how many pods wait.
func (s state) describe() string {
	place := s.cause.Source
	if s.cause.Pod != "" {
		place = "pod " + s.cause.Pod
	}
	text := fmt.Sprintf("%s (%s): %s %s Evidence: %s", s.cause.Code, place, s.cause.Cause, s.cause.Remedy, s.cause.Evidence)
	if s.isFinal() {
		return text
	}
	return s.Message + ". " + text
}
