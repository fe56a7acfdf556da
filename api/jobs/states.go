package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

// silentTime is the time after which missing pods are reported as a failure. Normally, the first pods exist after a second.
const silentTime = 30 * time.Second

// queueLabel is the label with the name of a queue of Kueue (kueue/pkg/controller/constants).
const queueLabel = "kueue.x-k8s.io/queue-name"

// stateTexts describes failures that have no message in the cluster. The catalogue of failures recognizes these
// descriptions.
func (v View) stateTexts(now time.Time) []diagnosis.Text {
	var texts []diagnosis.Text
	add := func(pod, description string) {
		texts = append(texts, diagnosis.Text{Source: diagnosis.State, From: "state of TrainJob " + v.Job.Name, Pod: pod, Message: description})
	}
	if text := v.describeDelay(now); text != "" {
		add("", text)
	}
	if verdict, _ := v.Verdict(); verdict != nil { // if the verdict is invalid, logTexts reads the log of preflight
		for _, host := range verdict.Failed {
			add(v.latestLauncher(), fmt.Sprintf("preflight of host %s: %s: %s", host.Host, host.Cause, host.Detail))
		}
	}
	if images := v.mainImages(); len(images) > 1 {
		add("", "the pods run different images: "+strings.Join(images, ", "))
	}
	for _, pod := range v.Pods {
		if sidecar := pod.sidecar(); sidecar != "" {
			add(pod.Name, fmt.Sprintf("container %s still runs after the main container has ended", sidecar))
		}
	}
	return texts
}

// describeDelay says why a TrainJob has no pods, or returns an empty string.
func (v View) describeDelay(now time.Time) string {
	phase, age := v.Phase(), now.Sub(v.pendingSince())
	queue := v.Job.Labels[queueLabel]
	switch {
	case phase == Suspended && queue != "":
		return fmt.Sprintf("queue %s has not admitted the TrainJob", queue)
	case phase == Suspended:
		return "spec.suspend is true, and the TrainJob has no queue"
	case phase != Pending || age <= silentTime || v.hasActiveJobs():
		return ""
	case len(v.Job.Status.Conditions)+len(v.Job.Status.JobsStatus) == 0:
		return fmt.Sprintf("the TrainJob has no status and no pods after %s", age.Round(time.Second))
	}
	return fmt.Sprintf("the TrainJob has no pods after %s", age.Round(time.Second))
}

// pendingSince returns the time from which Trainer should create pods: the creation of the TrainJob, or the time at which the
// TrainJob was resumed.
func (v View) pendingSince() time.Time {
	since := v.Job.CreationTimestamp.Time
	if c := meta.FindStatusCondition(v.Job.Status.Conditions, trainer.TrainJobSuspended); c != nil && c.LastTransitionTime.After(since) {
		return c.LastTransitionTime.Time
	}
	return since
}

// hasActiveJobs reports whether a Job of the TrainJob has pods, according to the status of the TrainJob.
func (v View) hasActiveJobs() bool {
	return slices.ContainsFunc(v.Job.Status.JobsStatus, func(s trainer.JobStatus) bool { return ptr.Deref(s.Active, 0) > 0 })
}

// latestLauncher returns the name of the latest pod of the launcher, or an empty string.
func (v View) latestLauncher() string {
	for _, pod := range v.LatestAttempts() {
		if pod.Role == Launcher {
			return pod.Name
		}
	}
	return ""
}

// mainImages returns the images of the main containers of the launcher and the nodes, each with the first role that runs it.
func (v View) mainImages() []string {
	var found []string
	seen := map[string]bool{}
	for _, pod := range v.Pods {
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

// sidecar returns the name of a container that runs although the main container has ended, or an empty string. Such a
// container prevents the end of the TrainJob.
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

func (p Pod) mainHasEnded() bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == MainContainer {
			return c.State.Terminated != nil
		}
	}
	return false
}
