package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

// stopReasons lists the reasons of events in which Kueue or Kubernetes reports that it stopped pods. These
// events can have the type Normal, so the function "failures" selects them by reason, and not by type.
var stopReasons = []string{"Stopped", "Preempted", "EvictedDueToPreempted", "EvictedDueToPodsReadyTimeout", "TaintManagerEviction"}

// EventReporter is the name under which trainyard-controller writes its events about TrainJobs. The function
// "failures" leaves out these events, because the warnings among them repeat an earlier diagnosis.
const EventReporter = "trainjob"

// eventTexts returns the messages of events that can explain a failure of the TrainJob.
func (s Snapshot) eventTexts(ctx context.Context, reader Reader) ([]diagnosis.Text, error) {
	events, err := reader.Events(ctx, s.Job.Namespace)
	if err != nil {
		return nil, err
	}
	var texts []diagnosis.Text
	if s.lostLauncher(events) {
		texts = append(texts, diagnosis.Text{Source: diagnosis.State, From: "events of TrainJob " + s.Job.Name, Message: "the TrainJob failed, and its launcher was deleted"})
	}
	for _, e := range s.failures(events) {
		texts = append(texts, diagnosis.Text{
			Source: diagnosis.Cluster, From: fmt.Sprintf("event %s of %s %s", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name),
			Pod: s.podNameOf(e), Time: lastSeen(e), Message: joinReason(e.Reason, e.Message),
		})
	}
	return texts, nil
}

// Kinds of objects in events.
const (
	podKind = "Pod"
	jobKind = "Job"
)

// subject describes an event. The fields kind and name identify the object that the event is about. The field reason
// contains the reason of the event.
type subject struct{ kind, name, reason string }

func subjectOf(e corev1.Event) subject {
	return subject{e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason}
}

// failures returns the events about unsolved problems of the TrainJob. The argument "events" must be sorted by time, with
// the oldest event first. If several events about one object have the same reason, failures returns only the latest event,
// because the messages of the earlier events no longer apply.
func (s Snapshot) failures(events []corev1.Event) []corev1.Event {
	seen, later := map[subject]bool{}, s.findProgress(events)
	var found []corev1.Event
	for _, e := range slices.Backward(events) {
		isFailure := e.ReportingController != EventReporter && (e.Type == corev1.EventTypeWarning || slices.Contains(stopReasons, e.Reason))
		if about := subjectOf(e); isFailure && s.concerns(e) && !s.isOver(e, later) && !seen[about] {
			seen[about] = true
			found = append(found, e)
		}
	}
	slices.Reverse(found)
	return found
}

// concerns returns true if an event is about the TrainJob, or about an object that belongs to the TrainJob. Events
// remain for some time after their object is deleted, so there can be events about an earlier TrainJob with the same
// name. Therefore the method "concerns" returns false for events that are older than the TrainJob, and for events about
// a TrainJob with another UID.
func (s Snapshot) concerns(e corev1.Event) bool {
	if lastSeen(e).Before(s.Job.CreationTimestamp.Time) {
		return false
	}
	object := e.InvolvedObject
	switch object.Kind {
	case podKind, jobKind:
		return s.jobOf(e) != ""
	case trainer.TrainJobKind:
		return object.Name == s.Job.Name && (object.UID == "" || object.UID == s.Job.UID)
	case "JobSet", "PodGroup":
		return object.Name == s.Job.Name
	case "Workload": // Kueue appends a hash to the name
		hash, found := strings.CutPrefix(object.Name, "trainjob-"+s.Job.Name+"-")
		return found && !strings.Contains(hash, "-")
	}
	return false
}

// jobNames returns the names of the Jobs of the TrainJob.
func (s Snapshot) jobNames() []string {
	names := jobNames(s.Job.Name)
	for _, status := range s.Job.Status.JobsStatus {
		names = append(names, fmt.Sprintf("%s-%s-0", s.Job.Name, status.Name))
	}
	return names
}

// podNameOf returns the name of the pod that an event is about, or an empty string if the event is not about a pod of the
// TrainJob.
func (s Snapshot) podNameOf(e corev1.Event) string {
	if e.InvolvedObject.Kind != podKind || s.jobOf(e) == "" {
		return ""
	}
	return e.InvolvedObject.Name
}

// roleOf returns the role of the Job or pod that an event is about, or an empty string if the event is not about a
// Job or pod of the TrainJob.
func (s Snapshot) roleOf(e corev1.Event) Role {
	return Role(strings.TrimSuffix(strings.TrimPrefix(s.jobOf(e), s.Job.Name+"-"), "-0"))
}

// jobOf returns the name of the Job that an event is about, or the name of the Job to which the pod of the event belongs.
// The result is empty if the event is not about a Job or pod of the TrainJob. The name of a pod consists of the name of its
// Job, an index and five random characters. jobOf uses only this name, so jobOf also finds the Job of a deleted pod.
func (s Snapshot) jobOf(e corev1.Event) string {
	for _, job := range s.jobNames() {
		rest, found := strings.CutPrefix(e.InvolvedObject.Name, job+"-")
		index, random, hasIndex := strings.Cut(rest, "-")
		isPod := found && hasIndex && strings.Trim(index, "0123456789") == "" && !strings.Contains(random, "-")
		if kind := e.InvolvedObject.Kind; kind == podKind && isPod || kind == jobKind && e.InvolvedObject.Name == job {
			return job
		}
	}
	return ""
}

// lostLauncher reports whether the TrainJob failed because somebody deleted the launcher's pod. lostLauncher returns
// true if five conditions are met: (1) the TrainJob has failed, (2) the launcher's Job has failed, (3) no pod of the
// launcher exists, (4) the kubelet stopped the main container of the launcher's last pod, and (5) the launcher's Job
// did not delete this pod. If the main container failed before the pod was deleted, condition 4 is not met, because the
// kubelet did not stop the container.
func (s Snapshot) lostLauncher(events []corev1.Event) bool {
	failed := slices.ContainsFunc(s.Job.Status.JobsStatus, func(j trainer.JobStatus) bool {
		return j.Name == string(Launcher) && ptr.Deref(j.Failed, 0) > 0
	})
	if !failed || s.Phase() != Failed || len(s.PodsOf(Launcher)) > 0 {
		return false
	}
	last, stopped, began := "", map[string]bool{}, s.attemptedAt()
	for _, e := range events {
		switch isLauncher := s.roleOf(e) == Launcher && !lastSeen(e).Before(began); {
		case !isLauncher:
		case e.InvolvedObject.Kind == podKind:
			last = e.InvolvedObject.Name
			stopped[last] = stopped[last] || e.Reason == "Killing" && isAboutMain(e)
		case e.Reason == "SuccessfulDelete": // the Job deletes its pods after its deadline or its last retry
			stopped[strings.TrimPrefix(e.Message, "Deleted pod: ")] = false
		}
	}
	return stopped[last]
}

// isAboutMain reports whether an event is about the main container of a pod.
func isAboutMain(e corev1.Event) bool {
	return e.InvolvedObject.FieldPath == "spec.containers{"+MainContainer+"}"
}
