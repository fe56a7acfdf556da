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

// Summary describes the phase in one line, for example how many pods are missing, and why. The summary contains no secrets
// and no control characters.
func (s Snapshot) Summary() string { return sanitize.Line(s.summary(), maxSummary) }

func (s Snapshot) summary() string {
	pods := s.unfinishedPods()
	switch s.Phase() {
	case Suspended:
		if s.Queue() != "" {
			return s.describeQueue()
		}
		if text := s.timeout(); text != "" {
			return text
		}
		return "Suspended, because spec.suspend is true"
	case Pending:
		return s.describePending()
	case GangScheduling:
		return s.describeUnscheduled(pods)
	case Initializing:
		return describeStarting(pods)
	case Running:
		return "Running on " + countNoun(len(pods), "pod")
	case Failed:
		return strings.TrimSuffix("Failed: "+joinReason(s.Outcome().Reason, s.Outcome().Message), ": ")
	}
	return string(s.Phase())
}

func (s Snapshot) describePending() string {
	switch {
	case s.ManagedElsewhere():
		return "Another cluster runs the TrainJob"
	case s.AwaitsPodEnds():
		return "Waiting until old pods have ended: " + countNoun(s.endingPods(), "pod")
	}
	return "Waiting for pods to be created"
}

// describeUnscheduled says how many pods are scheduled, and how many pods are missing. describeUnscheduled also
// quotes the scheduler's message about the first pod that could not be scheduled.
func (s Snapshot) describeUnscheduled(pods []Pod) string {
	scheduled, waiting := s.CountScheduled()
	text := fmt.Sprintf("Waiting for cluster nodes: %d of %s are scheduled", scheduled, countNoun(scheduled+waiting, "pod"))
	if missing := s.missingPods(); missing > 0 {
		text += fmt.Sprintf(", %d missing", missing)
	}
	if s.AwaitsPodEnds() {
		text += "; " + s.describePending()
	}
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if !pod.isScheduled() && c.Type == corev1.PodScheduled && c.Message != "" {
				return text + "; " + c.Message
			}
		}
	}
	return text
}

// describeStarting says how many pods are ready. In the pods that are not ready, describeStarting looks for a waiting
// container whose state has a message. describeStarting then quotes the first message that it finds.
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
