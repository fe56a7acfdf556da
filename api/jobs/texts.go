package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

// statusTexts returns the descriptions from stateTexts, and the messages in the status of the TrainJob, its Workload
// and its pods.
func (s Snapshot) statusTexts(now time.Time) []diagnosis.Text {
	texts := append(s.stateTexts(now), conditionTexts("TrainJob "+s.Job.Name, s.Job.Status.Conditions)...)
	if obstacles := s.Workload.obstacles(); len(obstacles) > 0 {
		texts = append(texts, conditionTexts("Workload "+s.Workload.Name, obstacles)...)
	}
	for _, pod := range s.relevantPods() {
		texts = append(texts, podTexts(pod)...)
	}
	return texts
}

// relevantPods returns the pods whose statuses and logs can explain the state of the TrainJob. relevantPods does not
// return pods of an earlier run (see isLeftOver), or pods that other pods have replaced (see isReplacedBy).
func (s Snapshot) relevantPods() []Pod {
	latest, failure := s.LatestAttempts(), s.failedAt(time.Time{})
	return slices.DeleteFunc(slices.Clone(s.Pods), func(p Pod) bool {
		return s.isLeftOver(p) || slices.ContainsFunc(latest, func(other Pod) bool { return s.isReplacedBy(p, other, failure) })
	})
}

// isReplacedBy reports whether the pod "other" has replaced the pod p, so that problems of the old pod no longer
// matter. The main container of the new pod must have started. If the TrainJob has failed, one of two conditions must
// also be met. Condition 1: the main container of the new pod started before the TrainJob began to fail. Condition 2:
// the Job of the two pods has succeeded. If neither condition is met, the loss of the old pod can be the cause of the
// failure, so isReplacedBy returns false.
func (s Snapshot) isReplacedBy(p, other Pod, failure time.Time) bool {
	if other.Role != p.Role || other.Index != p.Index || other.Name == p.Name || !other.mainHasStarted() {
		return false
	}
	return failure.IsZero() || s.hasSucceeded(p.Role) || other.mainStart().Before(failure)
}

func conditionTexts(object string, conditions []metav1.Condition) []diagnosis.Text {
	var texts []diagnosis.Text
	for _, c := range conditions {
		if c.Message != "" {
			texts = append(texts, diagnosis.Text{
				Source: diagnosis.Cluster, From: fmt.Sprintf("condition %s of %s", c.Type, object),
				Time: c.LastTransitionTime.Time, Message: joinReason(c.Reason, c.Message),
			})
		}
	}
	return texts
}

func joinReason(reason, message string) string { return strings.Trim(reason+": "+message, ": ") }

// podTexts returns the messages in the status of a pod, in its conditions, and in the states of its containers.
func podTexts(pod Pod) []diagnosis.Text {
	var texts []diagnosis.Text
	add := func(from string, at time.Time, reason, message string) {
		if reason+message != "" {
			texts = append(texts, diagnosis.Text{
				Source: diagnosis.Cluster, From: from + " of pod " + pod.Name, Pod: pod.Name, Time: at, Message: joinReason(reason, message),
			})
		}
	}
	add("status", pod.stoppedAt(), pod.Status.Reason, pod.Status.Message)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget || c.Status == corev1.ConditionFalse {
			add("condition "+string(c.Type), c.LastTransitionTime.Time, c.Reason, c.Message)
		}
	}
	for _, c := range pod.containers() {
		if c.State.Waiting != nil {
			add("state of container "+c.Name, time.Time{}, c.State.Waiting.Reason, c.State.Waiting.Message)
		}
		for _, ended := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if ended != nil && ended.ExitCode != 0 {
				texts = append(texts, endTexts(pod, c.Name, *ended)...)
			}
		}
	}
	return texts
}

// endTexts returns the reason why a container ended, and the container's termination message if it
// has one.
func endTexts(pod Pod, container string, ended corev1.ContainerStateTerminated) []diagnosis.Text {
	text := diagnosis.Text{
		Source: diagnosis.Cluster, From: fmt.Sprintf("state of container %s in pod %s", container, pod.Name), Pod: pod.Name, Time: ended.FinishedAt.Time,
		Message: joinReason(ended.Reason, fmt.Sprintf("exit code %d", ended.ExitCode)),
	}
	if slices.Contains(runtimeReasons, ended.Reason) {
		text.Message = joinReason(ended.Reason, ended.Message)
		return []diagnosis.Text{text}
	}
	if ended.Message == "" {
		return []diagnosis.Text{text}
	}
	left := text
	left.Source, left.Message = diagnosis.Log, ended.Message
	left.From = fmt.Sprintf("termination message of container %s in pod %s", container, pod.Name)
	return []diagnosis.Text{text, left}
}

// runtimeReasons lists the reasons that are reported for a container that did not start. If the reason of a container
// is in this list, the container runtime wrote the termination message. If the reason is not in this list, endTexts
// assumes that the program in the container wrote the termination message.
var runtimeReasons = []string{"StartError", "ContainerCannotRun", "CreateContainerError"}

// stoppedAt returns the time at which Kubernetes stopped the pod. If this time is unknown, stoppedAt returns the time at
// which the last container of the pod ended, or zero if the ends of the containers are also unknown.
func (p Pod) stoppedAt() time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			return c.LastTransitionTime.Time
		}
	}
	var latest time.Time
	for _, c := range p.containers() {
		if ended := c.State.Terminated; ended != nil && ended.FinishedAt.After(latest) {
			latest = ended.FinishedAt.Time
		}
	}
	return latest
}

// containers returns the states of all containers of a pod, in the order in which they start.
func (p Pod) containers() []corev1.ContainerStatus {
	return slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
}
