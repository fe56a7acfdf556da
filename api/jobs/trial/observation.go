package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainyard/trainyard/api/jobs"
)

// observation is the observed state of the TrainJob. An observation keeps deleted pods: when one pod fails,
// Kubernetes deletes the other pods, but the checks still need the status of these pods.
type observation struct {
	*trial
	snapshot jobs.Snapshot
	pods     map[string]jobs.Pod // by UID
	logs     map[string]string   // logs of ended containers, by pod UID and container name
	// mountWarnings maps the UID of a pod to the text of its latest event that has a reason in mountErrors.
	mountWarnings map[string]string
	// creationFailure is the latest event about a pod that could not be created.
	creationFailure string
	// logError is the latest error from reading the log of a container.
	logError string
	// endedAt is the time when the TrainJob was first observed to have ended.
	endedAt time.Time
}

const (
	// rankLines is the maximum number of lines to read from a launcher's log. The launcher's log contains one
	// line for each rank. If the last rankLines lines are longer than 1 MiB, jobs.Log reads fewer lines.
	rankLines = 10_000
	// maxWarnings is a number of pods, and not of events. Each update reads the warning events of at most maxWarnings
	// pods.
	maxWarnings = 3
	// evidenceLines is the number of log lines in Check.Evidence.
	evidenceLines = 5
	// logGracePeriod is how long a trial waits for changes after the TrainJob has ended, because the
	// kubelet may still update the status of the pods.
	logGracePeriod = 3 * time.Second
)

func (o *observation) update(ctx context.Context, snapshot jobs.Snapshot) error {
	o.snapshot = snapshot
	if snapshot.Outcome().Condition != "" && o.endedAt.IsZero() {
		o.endedAt = time.Now()
	}
	for _, pod := range snapshot.Pods {
		o.pods[string(pod.UID)] = pod
		if err := o.readLogs(ctx, pod); err != nil {
			return err
		}
	}
	o.readMountWarnings(ctx)
	o.readCreationFailure(ctx)
	return nil
}

// isFinal reports whether logGracePeriod has passed since the trial noticed the end of the TrainJob. The trial assumes
// that the pods no longer change after this time.
func (o *observation) isFinal() bool {
	return !o.endedAt.IsZero() && time.Since(o.endedAt) > logGracePeriod
}

// readLogs reads the logs of the ended containers for which needsLog returns true. It reads each log as soon
// as the container has ended, because the pod may be deleted before the next update. After an error, readLogs
// retries at the next update, unless the user has no permission to read logs.
func (o *observation) readLogs(ctx context.Context, pod jobs.Pod) error {
	for _, c := range allStatuses(pod) {
		key := string(pod.UID) + c.Name
		if _, known := o.logs[key]; known || !o.needsLog(pod, c) {
			continue
		}
		lines := int64(evidenceLines)
		if pod.Role == jobs.Launcher && c.Name == jobs.MainContainer {
			lines = rankLines
		}
		text, err := o.jobs.Log(ctx, pod, c.Name, lines)
		switch {
		case apierrors.IsForbidden(err):
			return err
		case err != nil:
			o.logError = err.Error()
		default:
			o.logs[key] = text
		}
	}
	return nil
}

// runningMpirun returns a finding with the log of the launcher's main container, if this container still runs when
// the trial times out. If mpirun does not end, this log is the only evidence.
func (o *observation) runningMpirun(ctx context.Context) finding {
	launcher := o.launcherPod()
	if mainStatus(launcher).State.Running == nil {
		return finding{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logGracePeriod)
	defer cancel()
	text, err := o.jobs.Log(ctx, launcher, jobs.MainContainer, rankLines)
	if err != nil {
		return finding{pod: &launcher, evidence: "mpirun still runs: " + err.Error()}
	}
	result := finding{pod: &launcher, evidence: "mpirun still runs; its log ends with:\n" + lastLines(text)}
	if ranks := ranksIn(text); len(ranks) > 0 && len(ranks) == o.wantedRanks() {
		result.detail = fmt.Sprintf("all %d ranks have started, and mpirun has not ended", len(ranks))
	}
	return result
}

// needsLog reports whether the trial reads the log of a container. The trial reads the log of mpirun after mpirun has
// ended, and the logs of containers that failed before mpirun ended. The trial does not read the logs of containers
// that fail after mpirun has ended. After the end of mpirun, Kubernetes stops the pods with the role Node. A container
// that Kubernetes stops can end with an error, but this error does not mean that the TrainJob failed.
func (o *observation) needsLog(pod jobs.Pod, c corev1.ContainerStatus) bool {
	if pod.Role == jobs.Launcher && c.Name == jobs.MainContainer {
		return c.State.Terminated != nil
	}
	return hasFailed(c) && !o.mpirunEnded()
}

// mountErrors are the reasons of events in which the kubelet reports a problem with the volumes or the network of a
// pod.
var mountErrors = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"}

// readMountWarnings reads the events of a few scheduled pods whose volumes are not mounted yet. The events only
// explain why the trial waits, and do not change the result of a check, so readMountWarnings ignores errors.
func (o *observation) readMountWarnings(ctx context.Context) {
	requests := 0
	for _, pod := range o.rankPods() {
		if pod.Spec.NodeName == "" || isMounted(pod) {
			continue
		}
		if requests++; requests > maxWarnings {
			return
		}
		events, err := o.jobs.Warnings(ctx, pod)
		if err != nil {
			return
		}
		for _, e := range events {
			if slices.Contains(mountErrors, e.Reason) {
				o.mountWarnings[string(pod.UID)] = e.Reason + ": " + e.Message
			}
		}
	}
}

// readCreationFailure reads the latest event that explains why pods are missing. If all pods exist, it reads nothing.
func (o *observation) readCreationFailure(ctx context.Context) {
	if len(o.rankPods()) >= o.expectedPods() {
		return
	}
	if messages, err := o.jobs.CreationFailures(ctx, keyOf(&o.snapshot.Job)); err == nil && len(messages) > 0 {
		o.creationFailure = messages[len(messages)-1]
	}
}

// latestPods returns the latest pod for each role and index, sorted by role and index. latestPods includes only roles
// for which the function "wanted" returns true.
func (o *observation) latestPods(wanted func(jobs.Role) bool) []jobs.Pod {
	var snapshot jobs.Snapshot
	for _, pod := range o.pods {
		if wanted(pod.Role) {
			snapshot.Pods = append(snapshot.Pods, pod)
		}
	}
	return snapshot.LatestAttempts()
}

func (o *observation) podsOf(role jobs.Role) []jobs.Pod {
	return o.latestPods(func(r jobs.Role) bool { return r == role })
}

func isMPI(role jobs.Role) bool { return role == jobs.Launcher || role == jobs.Node }

// rankPods returns the launcher and the nodes.
func (o *observation) rankPods() []jobs.Pod { return o.latestPods(isMPI) }

// otherPods returns the pods that are neither the launcher nor nodes, for example the pods of
// initializers.
func (o *observation) otherPods() []jobs.Pod {
	return o.latestPods(func(r jobs.Role) bool { return !isMPI(r) })
}

// failedContainer returns the first container that failed, and its pod. failedContainer checks initializers first,
// because initializers run before the launcher and the nodes.
func (o *observation) failedContainer() (jobs.Pod, corev1.ContainerStatus, bool) {
	for _, pod := range slices.Concat(o.otherPods(), o.rankPods()) {
		for _, c := range allStatuses(pod) {
			if hasFailed(c) && (pod.Role != jobs.Node || !o.mpirunEnded()) {
				return pod, c, true
			}
		}
	}
	return jobs.Pod{}, corev1.ContainerStatus{}, false
}

// expectedPods returns the number of nodes, plus one for the launcher.
func (o *observation) expectedPods() int { return int(o.options.Nodes) + 1 }

// launcherPod returns the pod that runs mpirun, or an empty pod if the launcher is not created yet.
func (o *observation) launcherPod() jobs.Pod {
	for _, pod := range o.podsOf(jobs.Launcher) {
		return pod
	}
	return jobs.Pod{}
}

// readVerdict returns the verdict of the launcher's preflight, or nil if there is no verdict yet.
func (o *observation) readVerdict() (*jobs.Verdict, error) {
	return jobs.Snapshot{Pods: []jobs.Pod{o.launcherPod()}}.Verdict()
}

// mainStatus returns the status of the container that runs mpirun or sshd, or an empty status before the container is
// created.
func mainStatus(pod jobs.Pod) corev1.ContainerStatus {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == jobs.MainContainer {
			return c
		}
	}
	return corev1.ContainerStatus{}
}

// lastOutput returns the end of a container's log, or the termination message of the container if the log is empty.
func (o *observation) lastOutput(pod jobs.Pod, c corev1.ContainerStatus) string {
	text := o.logs[string(pod.UID)+c.Name]
	if ended := c.State.Terminated; strings.TrimSpace(text) == "" && ended != nil {
		text = ended.Message
	}
	return lastLines(text)
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-evidenceLines):], "\n")
}

// allStatuses returns the statuses of all containers of a pod, in the order in which the containers start.
func allStatuses(pod jobs.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func hasStarted(c corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

func hasFailed(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
}

func exitMessage(c corev1.ContainerStatus) string {
	ended := c.State.Terminated
	message := fmt.Sprintf("container %s ended with exit code %d", c.Name, ended.ExitCode)
	if ended.Reason == "" || ended.Reason == "Error" {
		return message
	}
	return fmt.Sprintf("%s (%s)", message, ended.Reason)
}
