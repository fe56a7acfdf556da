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

// scene is what there is to see of the trial's job. It remembers pods that are gone: when one
// pod fails, Kubernetes deletes the others.
type scene struct {
	*trial
	view jobs.View
	seen map[string]jobs.Pod // by UID
	logs map[string]string   // of containers that ended, by pod UID and name
	// warned is why a pod is not ready for its containers, by UID.
	warned map[string]string
	// refused is why a pod could not be made.
	refused string
	// unreadable is why the log of a container that ended could not be read.
	unreadable string
	// ended is when the job was first seen to have ended.
	ended time.Time
}

const (
	// rankLines are as many ranks as a launcher's log may tell of, a line each; 1 MiB holds no more.
	rankLines = 10_000
	// mostWarned is of how many pods events are read in one look.
	mostWarned = 3
	// evidenceLines are what a person wants to read.
	evidenceLines = 5
	// lastWords is how long a failed job's pods may take to tell what happened: Trainer sees the
	// job's end, and the kubelet's word on the pods comes a little later.
	lastWords = 3 * time.Second
)

// look takes in what has changed.
func (s *scene) look(ctx context.Context, view jobs.View) error {
	s.view = view
	if view.Outcome().Condition != "" && s.ended.IsZero() {
		s.ended = time.Now()
	}
	for _, pod := range view.Pods {
		s.seen[string(pod.UID)] = pod
		if err := s.readLogs(ctx, pod); err != nil {
			return err
		}
	}
	s.readWarnings(ctx)
	s.readRefusals(ctx)
	return nil
}

// quiet reports whether a job has ended so long ago that nothing more will be seen.
func (s *scene) quiet() bool { return !s.ended.IsZero() && time.Since(s.ended) > lastWords }

// readLogs keeps what containers said that have ended: their pods may be gone at the next look.
// A failure may pass by the next look.
func (s *scene) readLogs(ctx context.Context, pod jobs.Pod) error {
	for _, c := range statuses(pod) {
		key := string(pod.UID) + c.Name
		if _, known := s.logs[key]; known || !s.wants(pod, c) {
			continue
		}
		lines := int64(evidenceLines)
		if pod.Role == jobs.Launcher && c.Name == jobs.Main {
			lines = rankLines
		}
		text, err := s.jobs.Log(ctx, pod, c.Name, lines)
		switch {
		case apierrors.IsForbidden(err):
			return err
		case err != nil:
			s.unreadable = err.Error()
		default:
			s.logs[key] = text
		}
	}
	return nil
}

// running is what the launcher has said so far where its main container runs: that of an mpirun
// which hangs is all there is to go by. The time for the trial may be over already.
func (s *scene) running(ctx context.Context) finding {
	launcher, found := s.launcher()
	if !found || mainState(launcher).Running == nil {
		return finding{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	text, err := s.jobs.Log(ctx, launcher, jobs.Main, rankLines)
	if err != nil {
		return finding{pod: &launcher, evidence: "mpirun still runs: " + err.Error()}
	}
	seen := finding{pod: &launcher, evidence: "mpirun still runs, and has said:\n" + lastLines(text)}
	if ranks := ranksIn(text); len(ranks) > 0 && len(ranks) == s.wanted() {
		seen.detail = fmt.Sprintf("all %d ranks have started, and mpirun has not ended", len(ranks))
	}
	return seen
}

// wants reports whether what a container said is evidence: what ranks said, or why it broke.
// Nodes end badly when their job ends.
func (s *scene) wants(pod jobs.Pod, c corev1.ContainerStatus) bool {
	if pod.Role == jobs.Launcher && c.Name == jobs.Main {
		return c.State.Terminated != nil
	}
	return broken(c) && !s.mpirunEnded()
}

// unmounted are the kubelet's reasons for a pod that has no volumes or no network yet.
var unmounted = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"}

// readWarnings asks why pods on a cluster node of which no container has started are not ready for
// them; of a few, because one is shown.
func (s *scene) readWarnings(ctx context.Context) {
	asked := 0
	for _, pod := range s.all() {
		if pod.Spec.NodeName == "" || mounted(pod) {
			continue
		}
		if asked++; asked > mostWarned {
			return
		}
		events, err := s.jobs.Warnings(ctx, pod)
		if err != nil {
			return // it is but a word more for whoever waits
		}
		for _, e := range events {
			if slices.Contains(unmounted, e.Reason) {
				s.warned[string(pod.UID)] = e.Reason + ": " + e.Message
			}
		}
	}
}

// readRefusals asks why pods are missing.
func (s *scene) readRefusals(ctx context.Context) {
	if len(s.all()) >= s.expected() {
		return
	}
	if said, err := s.jobs.Refusals(ctx, keyOf(&s.view.Job)); err == nil && len(said) > 0 {
		s.refused = said[len(said)-1]
	}
}

// pods are those that were ever seen of some roles, the latest of each where a Job tried again,
// in order of role and index.
func (s *scene) pods(roles ...jobs.Role) []jobs.Pod {
	var found jobs.View
	for _, pod := range s.seen {
		if slices.Contains(roles, pod.Role) {
			found.Pods = append(found.Pods, pod)
		}
	}
	return found.Latest()
}

// all are the launcher and the nodes.
func (s *scene) all() []jobs.Pod { return s.pods(jobs.Launcher, jobs.Node) }

// others are what else the runtime has, such as initializers.
func (s *scene) others() []jobs.Pod {
	var found jobs.View
	for _, pod := range s.seen {
		if pod.Role != jobs.Launcher && pod.Role != jobs.Node {
			found.Pods = append(found.Pods, pod)
		}
	}
	return found.Latest()
}

// culprit is a container that broke, of whichever pod: others first, for those run before.
func (s *scene) culprit() (jobs.Pod, corev1.ContainerStatus, bool) {
	for _, pod := range slices.Concat(s.others(), s.all()) {
		for _, c := range statuses(pod) {
			if broken(c) && (pod.Role != jobs.Node || !s.mpirunEnded()) {
				return pod, c, true
			}
		}
	}
	return jobs.Pod{}, corev1.ContainerStatus{}, false
}

// expected is how many pods there are in the end.
func (s *scene) expected() int { return int(s.options.Nodes) + 1 }

// launcher is the pod that runs mpirun.
func (s *scene) launcher() (jobs.Pod, bool) {
	found := s.pods(jobs.Launcher)
	if len(found) == 0 {
		return jobs.Pod{}, false
	}
	return found[0], true
}

// mainState is that of the container that runs mpirun or sshd.
func mainState(pod jobs.Pod) corev1.ContainerState {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == jobs.Main {
			return c.State
		}
	}
	return corev1.ContainerState{}
}

// evidence is the end of what a container said, or of what is said about it.
func (s *scene) evidence(pod jobs.Pod, c corev1.ContainerStatus) string {
	text := s.logs[string(pod.UID)+c.Name]
	if ended := c.State.Terminated; strings.TrimSpace(text) == "" && ended != nil {
		text = ended.Message
	}
	return lastLines(text)
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-evidenceLines):], "\n")
}

// statuses are those of all containers of a pod, in the order in which they start.
func statuses(pod jobs.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func started(c corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

// broken reports whether a container ended badly.
func broken(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
}

// howItEnded is the exit of a container in words.
func howItEnded(c corev1.ContainerStatus) string {
	ended := c.State.Terminated
	if ended.Reason == "" || ended.Reason == "Error" {
		return fmt.Sprintf("container %s ended with exit code %d", c.Name, ended.ExitCode)
	}
	return fmt.Sprintf("container %s ended with exit code %d (%s)", c.Name, ended.ExitCode, ended.Reason)
}
