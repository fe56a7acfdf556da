package jobs

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/api/sanitize"
)

// maxSummary is the maximum length of a summary, in characters.
const maxSummary = 300

// Summary describes the phase in one line: how many pods are missing, and why. It is safe to show.
func (v View) Summary() string { return sanitize.Line(v.summary(), maxSummary) }

func (v View) summary() string {
	pods := v.LatestAttempts()
	switch v.Phase() {
	case Suspended:
		if queue := v.Job.Labels[queueLabel]; queue != "" {
			return "Waiting in queue " + queue
		}
		return "Suspended, because spec.suspend is true"
	case Pending:
		return "Waiting for pods to be created"
	case GangScheduling:
		return describeUnscheduled(pods)
	case Initializing:
		return describeStarting(pods)
	case Running:
		return "Running on " + countNoun(len(pods), "pod")
	case Failed:
		return strings.TrimSuffix("Failed: "+joinReason(v.Outcome().Reason, v.Outcome().Message), ": ")
	}
	return string(v.Phase())
}

// describeUnscheduled counts the pods without a cluster node, and quotes the scheduler's reason for the first of them.
func describeUnscheduled(pods []Pod) string {
	missing := slices.DeleteFunc(slices.Clone(pods), Pod.isScheduled)
	text := fmt.Sprintf("Waiting for cluster nodes: %d of %s are scheduled", len(pods)-len(missing), countNoun(len(pods), "pod"))
	for _, c := range missing[0].Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Message != "" {
			return text + "; " + c.Message
		}
	}
	return text
}

// describeStarting counts the ready pods, and quotes the first reason for which a container of another pod waits.
func describeStarting(pods []Pod) string {
	waiting := slices.DeleteFunc(slices.Clone(pods), Pod.isReady)
	text := fmt.Sprintf("Starting: %d of %s are ready", len(pods)-len(waiting), countNoun(len(pods), "pod"))
	for _, pod := range waiting {
		for _, c := range pod.containers() {
			if c.State.Waiting != nil && c.State.Waiting.Message != "" {
				return fmt.Sprintf("%s; %s: %s", text, pod, joinReason(c.State.Waiting.Reason, c.State.Waiting.Message))
			}
		}
	}
	return text
}

func countNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
