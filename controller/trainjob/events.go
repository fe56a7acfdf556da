package trainjob

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/api/jobs"
)

// These constants are the values of the field "reason" in events about the stages of a TrainJob. Other programs can
// rely on these values.
const (
	// ReasonJobSubmitted means that the controller sees the TrainJob for the first time.
	ReasonJobSubmitted = "JobSubmitted"
	// ReasonGangSchedulingStarted means that the first pods exist, and that the TrainJob waits until all its pods are
	// assigned to cluster nodes.
	ReasonGangSchedulingStarted = "GangSchedulingStarted"
	// ReasonPodsReady means that all pods are ready for the training.
	ReasonPodsReady = "PodsReady"
	// ReasonTrainingStarted means that mpirun has started. If the TrainJob has no launcher, ReasonTrainingStarted means
	// that the programs on all nodes have started.
	ReasonTrainingStarted = "TrainingStarted"
	// ReasonTrainingComplete means that the TrainJob has succeeded.
	ReasonTrainingComplete = "TrainingComplete"
	// ReasonTrainingFailed means that the TrainJob has failed. The note of the event TrainingFailed
	// says why the TrainJob failed.
	ReasonTrainingFailed = "TrainingFailed"
)

const (
	// action is the value of the field "action" in the events about the stages of a TrainJob.
	action = "Observe"
	// maxNote is the maximum length of the note of an event, in bytes. The API server refuses notes of more than 1024 bytes.
	maxNote = 1000
	// oldAge is an age limit: if a TrainJob started or ended more than oldAge ago, this start or end counts as old.
	// When the controller sees a TrainJob for the first time, the start or the end of the TrainJob can already be old.
	// The controller does not report the past of such a TrainJob. Otherwise a newly installed controller would write
	// events about all TrainJobs that ended long ago.
	oldAge = time.Hour
)

// note is an event about a TrainJob.
type note struct{ kind, reason, text string }

// emit writes the events about the stages that a TrainJob has reached between the state "before" and the
// state "current".
func (c *Controller) emit(snapshot jobs.Snapshot, before, current state) {
	if c.ReadOnly || c.isOld(snapshot, before, c.Now()) {
		return
	}
	for _, n := range notes(snapshot, before, current) {
		c.Events.Eventf(&snapshot.Job, nil, n.kind, n.reason, action, "%s", shorten(n.text))
	}
}

// shorten cuts off the end of a note that is longer than maxNote.
func shorten(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "…"
}

// isOld reports whether a TrainJob is old. If the controller knows an earlier state of the TrainJob, isOld returns
// false. Otherwise, the result depends on the mode of the controller. Outside read-only mode, the TrainJob is old if it
// started or ended more than oldAge ago. In read-only mode, the controller writes no annotations, so a restarted
// controller does not know what it has already reported. In read-only mode, the TrainJob is therefore old in either of
// two cases. In the first case, the TrainJob was scheduled, started or ended more than oldAge ago. In the second case,
// the TrainJob was scheduled, started or ended before the controller started.
func (c *Controller) isOld(snapshot jobs.Snapshot, before state, now time.Time) bool {
	horizon := now.Add(-oldAge)
	if c.ReadOnly && c.began.After(horizon) {
		horizon = c.began
	}
	times := snapshot.Times()
	stages := []time.Time{times.Started, times.Ended}
	if c.ReadOnly {
		stages = append(stages, times.Scheduled)
	}
	for _, past := range stages {
		if before.Phase == "" && !past.IsZero() && past.Before(horizon) {
			return true
		}
	}
	return false
}

// stages maps each phase, except the final phases, to the position of its stage in the usual order. A TrainJob
// can pass through several stages between two reports. stageNotes uses the positions to find all these stages.
var stages = map[jobs.Phase]int{"": -1, jobs.Suspended: 0, jobs.Pending: 0, jobs.GangScheduling: 1, jobs.Initializing: 2, jobs.Running: 3}

// notes returns the events for the stages that a TrainJob has reached since the last report. If JobSet restarts all
// pods, the TrainJob reaches some stages again. The function "notes" then returns the events of these stages again,
// except JobSubmitted. A failure is reported only after the search for its cause has ended, so that the event can
// contain the cause.
func notes(snapshot jobs.Snapshot, before, current state) []note {
	var all []note
	if before.Phase != current.Phase {
		all = stageNotes(snapshot, before, current)
	}
	switch {
	case before.ended || !current.ended:
	case current.Phase == jobs.Succeeded:
		all = append(all, note{corev1.EventTypeNormal, ReasonTrainingComplete, fmt.Sprintf("succeeded %s after its creation", age(snapshot))})
	default:
		all = append(all, note{corev1.EventTypeWarning, ReasonTrainingFailed, current.Message})
	}
	return all
}

// stageNotes returns the events for the stages that a TrainJob has newly reached, except the event
// for its end.
func stageNotes(snapshot jobs.Snapshot, before, current state) []note {
	from, to := stages[before.Phase], reachedStage(snapshot, current)
	if to < from {
		from = to - 1
	}
	var all []note
	add := func(stage int, reason, text string) {
		if from < stage && stage <= to {
			all = append(all, note{corev1.EventTypeNormal, reason, text})
		}
	}
	if before.Phase == "" {
		add(0, ReasonJobSubmitted, fmt.Sprintf("created by %s, with runtime %s", cmp.Or(snapshot.Creator(), "an unknown program"), snapshot.Job.Spec.RuntimeRef.Name))
	}
	if current.elsewhere || !snapshot.Job.DeletionTimestamp.IsZero() {
		return all // this cluster creates no pods
	}
	add(1, ReasonGangSchedulingStarted, "the pods wait for cluster nodes")
	add(3, ReasonPodsReady, "the pods are ready")
	add(3, ReasonTrainingStarted, "the training has started")
	return all
}

// reachedStage returns the position of the last stage that a TrainJob has reached. If the TrainJob failed, and its pods
// do not show that the training started, reachedStage returns 0, the position of the first stage.
func reachedStage(snapshot jobs.Snapshot, current state) int {
	switch {
	case current.Phase == jobs.Succeeded, current.Phase == jobs.Failed && !snapshot.Times().Started.IsZero():
		return stages[jobs.Running]
	case current.Phase == jobs.Failed:
		return 0
	}
	return stages[current.Phase]
}

// age returns the time from the creation of a TrainJob to its end.
func age(snapshot jobs.Snapshot) time.Duration {
	times := snapshot.Times()
	return times.Ended.Sub(times.Created).Round(time.Second)
}
