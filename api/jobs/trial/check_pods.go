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

// checkPlaced passes when every pod is assigned to a cluster node.
func checkPlaced(o *observation) finding {
	if outcome := o.snapshot.Outcome(); outcome.Reason == trainer.TrainJobRuntimeNotSupportedReason {
		return finding{status: Failed, detail: "Trainer refuses the runtime: " + outcome.Message}
	}
	if meta.IsStatusConditionTrue(o.snapshot.Job.Status.Conditions, trainer.TrainJobSuspended) {
		return open("the TrainJob is suspended until a queue admits it")
	}
	if strings.Contains(o.creationFailure, "forbidden") || strings.Contains(o.creationFailure, "denied the request") {
		return finding{status: Failed, detail: "the TrainJob's pods are rejected", evidence: o.creationFailure}
	}
	placed, on := 0, map[string]bool{}
	waiting := o.waitsBefore()
	for _, pod := range o.rankPods() {
		if pod.Spec.NodeName != "" {
			placed++
			on[pod.Spec.NodeName] = true
			continue
		}
		if message := schedulingMessage(pod); message != "" {
			waiting = fmt.Sprintf("%s: %s", pod, message)
		}
	}
	if placed == o.expectedPods() {
		return passed(fmt.Sprintf("%d pods on %s", placed, countNoun(len(on), "cluster node")))
	}
	return open(strings.TrimSuffix(fmt.Sprintf("%d of %d pods placed; %s", placed, o.expectedPods(), waiting), "; "))
}

// schedulingMessage returns the reason that the scheduler reports for a pod without a cluster node.
func schedulingMessage(pod jobs.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// waitsBefore returns the reason why the launcher or nodes are not created yet. If another pod must end first, such
// as an initializer, the reason names this pod. Otherwise the reason is the latest event about a pod that could not
// be created.
func (o *observation) waitsBefore() string {
	if len(o.rankPods()) >= o.expectedPods() {
		return ""
	}
	for _, pod := range o.otherPods() {
		if pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		waits := fmt.Sprintf("%s must end first: %s", pod, cmp.Or(string(pod.Status.Phase), "Pending"))
		if message := schedulingMessage(pod); message != "" {
			return waits + ": " + message
		}
		for _, c := range allStatuses(pod) {
			if c.State.Waiting != nil {
				waits += fmt.Sprintf(": %s: %s", c.State.Waiting.Reason, c.State.Waiting.Message)
			}
		}
		return waits
	}
	return o.creationFailure
}

// checkMounted passes when every pod has a sandbox, because the kubelet mounts all volumes of a pod before it creates
// the sandbox.
func checkMounted(o *observation) finding {
	ready := 0
	for _, pod := range o.rankPods() {
		if isMounted(pod) {
			ready++
		} else if warning := o.mountWarnings[string(pod.UID)]; warning != "" {
			return open(fmt.Sprintf("%s: %s", pod, warning))
		}
	}
	if ready == o.expectedPods() {
		return passed(fmt.Sprintf("in %d pods", ready))
	}
	return open("")
}

func isMounted(pod jobs.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
	}) || slices.ContainsFunc(allStatuses(pod), hasStarted)
}

// permanentImageErrors lists the kubelet's errors after which a trial stops waiting for the image. ErrImagePull is not in
// the list, because the kubelet retries soon after this error. ImagePullBackOff is in the list, because the kubelet
// retries with growing delays after this error.
var permanentImageErrors = []string{"ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "ImagePullBackOff"}

// checkImage passes when the image of the main container is present on the cluster node of every pod.
func checkImage(o *observation) finding {
	present := 0
	for _, pod := range o.rankPods() {
		for _, c := range allStatuses(pod) {
			wait := c.State.Waiting
			switch {
			case wait == nil:
			case slices.Contains(permanentImageErrors, wait.Reason):
				return failedFinding(pod, fmt.Sprintf("%s: %s: %s", pod, wait.Reason, c.Image), wait.Message)
			case wait.Reason == "ErrImagePull":
				return open(fmt.Sprintf("%s: %s", pod, wait.Message))
			}
		}
		if hasImage(pod) {
			present++
		}
	}
	if present == o.expectedPods() {
		return passed(imageOf(o.rankPods()[0], jobs.MainContainer))
	}
	return open("")
}

// hasImage reports whether the main container's image is present on the cluster node of a pod. The kubelet pulls the
// image of a container before it tries to create the container. Therefore the image is present if the kubelet has tried
// to create a container with this image, even if the creation failed.
func hasImage(pod jobs.Pod) bool {
	return slices.ContainsFunc(allStatuses(pod), func(c corev1.ContainerStatus) bool {
		wait := c.State.Waiting
		tried := hasStarted(c) || wait != nil && slices.Contains(startErrors, wait.Reason)
		return tried && imageOf(pod, c.Name) == imageOf(pod, jobs.MainContainer)
	})
}

func imageOf(pod jobs.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

// startErrors are the reasons that the kubelet reports for a container that it cannot create.
var startErrors = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}

// checkUser passes when every pod has started its preflight or its main container. checkUser fails if a container
// cannot be created, or if an init container other than preflight fails before the main container starts. checkUser
// ignores a failed preflight, because other checks report this failure. These are the checks dns, ssh and slots, which
// read the verdict of preflight.
func checkUser(o *observation) finding {
	for _, pod := range o.rankPods() {
		for _, c := range allStatuses(pod) {
			if wait := c.State.Waiting; wait != nil && slices.Contains(startErrors, wait.Reason) {
				return failedFinding(pod, fmt.Sprintf("%s: %s: %s", pod, c.Name, wait.Reason), wait.Message)
			}
		}
		for _, c := range pod.Status.InitContainerStatuses {
			if c.Name != jobs.PreflightContainer && hasFailed(c) && !hasStarted(mainStatus(pod)) {
				return failedFinding(pod, fmt.Sprintf("%s: %s", pod, exitMessage(c)), o.lastOutput(pod, c))
			}
		}
	}
	if o.startedPods() == o.expectedPods() {
		return passed("")
	}
	return open("")
}

func (o *observation) startedPods() int {
	n := 0
	for _, pod := range o.rankPods() {
		if isPrepared(pod) {
			n++
		}
	}
	return n
}

// isPrepared reports whether a pod has started its preflight or its main container.
func isPrepared(pod jobs.Pod) bool {
	return slices.ContainsFunc(allStatuses(pod), func(c corev1.ContainerStatus) bool {
		return (c.Name == jobs.PreflightContainer || c.Name == jobs.MainContainer) && hasStarted(c)
	})
}

// countNoun returns a number and a noun, such as "1 node" or "2 nodes".
func countNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
