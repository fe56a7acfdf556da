package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainyard/trainyard/api/jobs"
)

// judgePlaced wants every pod on a cluster node.
func judgePlaced(s *scene) finding {
	if outcome := s.view.Outcome(); outcome.Reason == trainer.TrainJobRuntimeNotSupportedReason {
		return finding{status: Failed, detail: "Trainer refuses the runtime: " + outcome.Message}
	}
	if meta.IsStatusConditionTrue(s.view.Job.Status.Conditions, trainer.TrainJobSuspended) {
		return open("the TrainJob is suspended, until a queue admits it")
	}
	if strings.Contains(s.refused, "forbidden") || strings.Contains(s.refused, "denied the request") {
		return finding{status: Failed, detail: "the TrainJob's pods are refused", evidence: s.refused}
	}
	placed, on := 0, map[string]bool{}
	waiting := s.missing()
	for _, pod := range s.all() {
		if pod.Spec.NodeName != "" {
			placed++
			on[pod.Spec.NodeName] = true
			continue
		}
		if message := unplaced(pod); message != "" {
			waiting = fmt.Sprintf("%s: %s", pod, message)
		}
	}
	if placed == s.expected() {
		return passed(fmt.Sprintf("%d pods on %s", placed, count(len(on), "cluster node")))
	}
	return open(strings.TrimSuffix(fmt.Sprintf("%d of %d pods placed; %s", placed, s.expected(), waiting), "; "))
}

// unplaced is why a pod has no cluster node yet.
func unplaced(pod jobs.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// missing is why pods may not have been made yet: what refuses them for the moment, or what has
// to end before, such as an initializer.
func (s *scene) missing() string {
	if len(s.all()) >= s.expected() {
		return ""
	}
	for _, pod := range s.others() {
		if pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		waits := fmt.Sprintf("%s has to end before: %s", pod, cmp.Or(string(pod.Status.Phase), "Pending"))
		if message := unplaced(pod); message != "" {
			return waits + ": " + message
		}
		for _, c := range statuses(pod) {
			if c.State.Waiting != nil {
				waits += fmt.Sprintf(": %s: %s", c.State.Waiting.Reason, c.State.Waiting.Message)
			}
		}
		return waits
	}
	return s.refused
}

// judgeMounted wants a sandbox for every pod, which the kubelet makes once all volumes are there.
func judgeMounted(s *scene) finding {
	ready := 0
	for _, pod := range s.all() {
		if mounted(pod) {
			ready++
		} else if warned := s.warned[string(pod.UID)]; warned != "" {
			return open(fmt.Sprintf("%s: %s", pod, warned))
		}
	}
	if ready == s.expected() {
		return passed(fmt.Sprintf("in %d pods", ready))
	}
	return open("")
}

func mounted(pod jobs.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
	}) || slices.ContainsFunc(statuses(pod), started)
}

// hopeless are reasons of the kubelet's after which waiting for an image is in vain. After
// ErrImagePull it tries again at once, after ImagePullBackOff later and later.
var hopeless = []string{"ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "ImagePullBackOff"}

// judgeImage wants the image of the main container in every pod.
func judgeImage(s *scene) finding {
	there := 0
	for _, pod := range s.all() {
		for _, c := range statuses(pod) {
			wait := c.State.Waiting
			switch {
			case wait == nil:
			case slices.Contains(hopeless, wait.Reason):
				return failed(pod, fmt.Sprintf("%s: %s: %s", pod, wait.Reason, c.Image), wait.Message)
			case wait.Reason == "ErrImagePull":
				return open(fmt.Sprintf("%s: %s", pod, wait.Message))
			}
		}
		if hasImage(pod) {
			there++
		}
	}
	if there == s.expected() {
		return passed(imageOf(s.all()[0], jobs.Main))
	}
	return open("")
}

// hasImage reports whether the main container's image is on the cluster node: a container of
// the same image has started, or could not be made for another reason.
func hasImage(pod jobs.Pod) bool {
	return slices.ContainsFunc(statuses(pod), func(c corev1.ContainerStatus) bool {
		wait := c.State.Waiting
		tried := started(c) || wait != nil && slices.Contains(unstartable, wait.Reason)
		return tried && imageOf(pod, c.Name) == imageOf(pod, jobs.Main)
	})
}

// imageOf is what a container of a pod should run, as the runtime has it.
func imageOf(pod jobs.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

// unstartable are reasons of the kubelet's for a container that it cannot make.
var unstartable = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}

// judgeUser wants the first container of every pod to start, and what runs before the main one
// to end well. What preflight says is for other checks.
func judgeUser(s *scene) finding {
	for _, pod := range s.all() {
		for _, c := range statuses(pod) {
			if wait := c.State.Waiting; wait != nil && slices.Contains(unstartable, wait.Reason) {
				return failed(pod, fmt.Sprintf("%s: %s: %s", pod, c.Name, wait.Reason), wait.Message)
			}
		}
		for _, c := range pod.Status.InitContainerStatuses {
			if c.Name != jobs.Preflight && broken(c) {
				return failed(pod, fmt.Sprintf("%s: %s", pod, howItEnded(c)), s.evidence(pod, c))
			}
		}
	}
	if s.started() == s.expected() {
		return passed("")
	}
	return open("")
}

// started is how many pods have come to their preflight, or to their main container.
func (s *scene) started() int {
	n := 0
	for _, pod := range s.all() {
		if prepared(pod) {
			n++
		}
	}
	return n
}

// prepared reports whether a pod has come to its preflight, or to its main container.
func prepared(pod jobs.Pod) bool {
	return slices.ContainsFunc(statuses(pod), func(c corev1.ContainerStatus) bool {
		return (c.Name == jobs.Preflight || c.Name == jobs.Main) && started(c)
	})
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
