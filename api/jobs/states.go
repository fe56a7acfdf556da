package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// silentTime is the time after which describeDelay reports that a TrainJob has no pods. Normally, the first pods
// exist after one second.
const silentTime = 30 * time.Second

// Queue returns the name of the TrainJob's LocalQueue in Kueue, or an empty string if the TrainJob has no queue.
func (s Snapshot) Queue() string { return s.Job.Labels[queueLabel] }

// stateTexts describes problems that no message of Kubernetes describes. The catalogue of failures has patterns that
// match these descriptions.
func (s Snapshot) stateTexts(now time.Time) []diagnosis.Text {
	var texts []diagnosis.Text
	add := func(pod, description string) {
		texts = append(texts, diagnosis.Text{Source: diagnosis.State, From: "state of TrainJob " + s.Job.Name, Pod: pod, Message: description})
	}
	if text := s.describeDelay(now); text != "" {
		add("", text)
	}
	if text := s.describeStop(); text != "" {
		add("", text)
		texts[len(texts)-1].Time = s.Job.CreationTimestamp.Time // so that it comes before problems of single pods
	}
	if verdict, _ := s.Verdict(); verdict != nil { // if the verdict is invalid, its text is in the log that logTexts reads
		for _, host := range verdict.Failed {
			add(s.latestLauncher(), host.Text())
		}
	}
	if pod := s.killedLauncher(); pod != "" {
		add(pod, fmt.Sprintf("the launcher ended with exit code %d", killedCode))
	}
	if images := s.mainImages(); len(images) > 1 {
		add("", "the pods run different images: "+strings.Join(images, ", "))
	}
	for _, pod := range s.LatestAttempts() {
		if sidecar := pod.sidecar(); sidecar != "" {
			add(pod.Name, fmt.Sprintf("container %s still runs after the main container has ended", sidecar))
		}
	}
	return texts
}

// describeStop returns the reason of a suspension if the reason is a gang timeout or an inactive Workload. In all
// other cases, describeStop returns an empty string.
func (s Snapshot) describeStop() string {
	switch {
	case s.timeout() != "":
		return s.timeout()
	case s.Phase() == Suspended && s.Workload.isInactive():
		return fmt.Sprintf("spec.active of Workload %s is false", s.Workload.Name)
	}
	return ""
}

// describeDelay says why a TrainJob has no pods. describeDelay returns an empty string if there is no problem, or if
// describeStop already explains the problem.
func (s Snapshot) describeDelay(now time.Time) string {
	phase, age := s.Phase(), s.pendingTime(now)
	queue := s.Queue()
	switch {
	case s.describeStop() != "":
		return ""
	case phase == Suspended && queue != "":
		return fmt.Sprintf("queue %s has not admitted the TrainJob", queue)
	case phase == Suspended:
		return "spec.suspend is true, and the TrainJob has no queue"
	case phase != Pending || age <= silentTime || s.hasActiveJobs() || s.ManagedElsewhere() || s.AwaitsPodEnds():
		return ""
	case len(s.Job.Status.Conditions)+len(s.Job.Status.JobsStatus) == 0:
		return fmt.Sprintf("the TrainJob has no status and no pods after %s", silentTime)
	}
	return fmt.Sprintf("the TrainJob has no pods after %s", silentTime)
}

// timeout returns the text that trainyard-controller wrote when it suspended the TrainJob after a gang timeout. The
// result is empty if the TrainJob is not suspended, or lacks the annotation with this text. The result is also empty if
// the Workload of the TrainJob is active. An active Workload means that somebody has activated it again after the
// timeout, and that the TrainJob waits in its queue.
func (s Snapshot) timeout() string {
	if s.Phase() != Suspended || s.Workload != nil && !s.Workload.Inactive {
		return ""
	}
	return s.Job.Annotations[v1alpha1.TimedOutAnnotation]
}

// pendingTime returns the duration since the TrainJob was created or last resumed (see resumedAt). The result
// is 0 if resumedAt returns zero, for example because the TrainJob is suspended.
func (s Snapshot) pendingTime(now time.Time) time.Duration {
	if since := s.resumedAt(); !since.IsZero() {
		return now.Sub(since)
	}
	return 0
}

// resumedAt returns the time at which the TrainJob was last resumed, or its creation time if it was never resumed. From
// this time on, Trainer should create pods. resumedAt returns zero if the TrainJob is suspended, or if Trainer has not
// noticed yet that the TrainJob was resumed.
func (s Snapshot) resumedAt() time.Time {
	c := meta.FindStatusCondition(s.Job.Status.Conditions, trainer.TrainJobSuspended)
	switch {
	case s.isSuspended(), c != nil && c.Status == metav1.ConditionTrue:
		return time.Time{}
	case c != nil && c.LastTransitionTime.After(s.Job.CreationTimestamp.Time):
		return c.LastTransitionTime.Time
	}
	return s.Job.CreationTimestamp.Time
}

// hasActiveJobs reports whether the status of the TrainJob says that one of its Jobs has pods.
func (s Snapshot) hasActiveJobs() bool {
	return slices.ContainsFunc(s.Job.Status.JobsStatus, func(s trainer.JobStatus) bool { return ptr.Deref(s.Active, 0) > 0 })
}

// killedCode is the exit code that mpirun and shells return for a process that got SIGKILL (signal 9): 128 + 9.
const killedCode = 137

// killedLauncher returns the name of the launcher's latest pod if the main container of this pod ended with
// killedCode. killedLauncher ignores other containers, because killedCode does not always mean a failure. When
// Kubernetes stops a pod, it kills containers that ignore SIGTERM, and these containers also end with
// killedCode.
func (s Snapshot) killedLauncher() string {
	for _, pod := range s.LatestAttempts() {
		if ended := pod.mainEnd(); pod.Role == Launcher && ended != nil && ended.ExitCode == killedCode {
			return pod.Name
		}
	}
	return ""
}

// latestLauncher returns the name of the latest pod of the launcher, or an empty string if the
// launcher has no pod.
func (s Snapshot) latestLauncher() string {
	for _, pod := range s.LatestAttempts() {
		if pod.Role == Launcher {
			return pod.Name
		}
	}
	return ""
}

// mainImages returns the different images that the main containers of the launcher and the nodes run. Each result names
// an image and the first role (launcher or node) that runs it.
func (s Snapshot) mainImages() []string {
	var found []string
	seen := map[string]bool{}
	for _, pod := range s.LatestAttempts() {
		if pod.Role != Launcher && pod.Role != Node {
			continue
		}
		for _, c := range pod.Spec.Containers {
			if c.Name == MainContainer && !seen[c.Image] {
				seen[c.Image] = true
				found = append(found, fmt.Sprintf("%s on the %s", c.Image, pod.Role))
			}
		}
	}
	return found
}

// sidecar returns the name of a container that still runs after the main container of the pod has ended.
// Such a container can prevent the TrainJob from ending. The result is empty if there is no such container.
func (p Pod) sidecar() string {
	if !p.mainHasEnded() {
		return ""
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil {
			return c.Name
		}
	}
	return ""
}

func (p Pod) mainHasEnded() bool { return p.mainEnd() != nil }

// mainEnd returns the final state of the main container, or nil if the container has not ended.
func (p Pod) mainEnd() *corev1.ContainerStateTerminated {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == MainContainer {
			return c.State.Terminated
		}
	}
	return nil
}
