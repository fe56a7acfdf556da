package trial

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/api/jobs"
)

// judgeSSHD wants every node ready. sshd never ends by itself.
func judgeSSHD(s *scene) finding {
	ready := 0
	var missing []string
	for _, pod := range s.pods(jobs.Node) {
		for _, c := range pod.Status.ContainerStatuses {
			if broken(c) && !s.mpirunEnded() {
				return failed(pod, fmt.Sprintf("%s: %s", pod, howItEnded(c)), s.evidence(pod, c))
			}
		}
		if isReady(pod) {
			ready++
		} else {
			missing = append(missing, pod.String())
		}
	}
	if ready == int(s.options.Nodes) {
		return passed("on " + count(ready, "node"))
	}
	return open("waiting for " + strings.Join(missing, ", "))
}

func isReady(pod jobs.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// judgeDNS, judgeSSH and judgeSlots read what preflight found, each its own causes.
func judgeDNS(s *scene) finding {
	return s.hosts(func(cause string) bool { return cause == "unresolvable" }, func(v jobs.Verdict) string {
		return count(v.Hosts, "host")
	})
}

func judgeSSH(s *scene) finding {
	return s.hosts(func(cause string) bool { return cause != "unresolvable" && cause != "slots" }, func(v jobs.Verdict) string {
		slowest := 0
		for _, ms := range v.Milliseconds {
			if ms != nil {
				slowest = max(slowest, *ms)
			}
		}
		return fmt.Sprintf("%s, the last after %.1f s", count(v.Hosts, "host"), float64(slowest)/1000)
	})
}

func judgeSlots(s *scene) finding {
	return s.hosts(func(cause string) bool { return cause == "slots" }, func(v jobs.Verdict) string {
		return fmt.Sprintf("%d wanted, room for %d", v.Slots, v.Available)
	})
}

// hosts judges by the causes of a verdict that a check is about.
func (s *scene) hosts(about func(cause string) bool, found func(jobs.Verdict) string) finding {
	launcher, _ := s.launcher()
	verdict, err := jobs.View{Pods: []jobs.Pod{launcher}}.Verdict()
	if err != nil {
		return failed(launcher, err.Error(), "")
	}
	if verdict == nil {
		return s.noVerdict(launcher)
	}
	var bad []string
	for _, f := range verdict.Failed {
		if about(f.Cause) {
			bad = append(bad, f.String())
		}
	}
	if len(bad) > 0 && s.started() < s.expected() {
		return open("") // no wonder, and not the launcher's fault
	}
	if len(bad) > 0 {
		return failed(launcher, bad[0], strings.Join(bad, "\n"))
	}
	if len(verdict.Failed) == 0 && verdict.Reached < verdict.Hosts {
		return failed(launcher, fmt.Sprintf("%d of %s reached", verdict.Reached, count(verdict.Hosts, "host")), "")
	}
	return passed(found(*verdict))
}

// noVerdict is for a launcher whose preflight goes on, or ended without a verdict.
func (s *scene) noVerdict(launcher jobs.Pod) finding {
	for _, c := range launcher.Status.InitContainerStatuses {
		switch {
		case c.Name != jobs.Preflight:
		case broken(c):
			return failed(launcher, howItEnded(c), s.evidence(launcher, c))
		case c.State.Running != nil:
			return open("the launcher tries to reach all hosts")
		}
	}
	return open("")
}

// mpirunEnded reports whether the launcher's main container has ended, one way or the other.
func (s *scene) mpirunEnded() bool {
	launcher, found := s.launcher()
	return found && mainState(launcher).Terminated != nil
}

// Exit codes by which a shell or the container runtime says that there was no program to run.
const (
	notExecutable = 126
	notFound      = 127
	startError    = 128
)

// judgeMpirun wants the launcher's program to start.
func judgeMpirun(s *scene) finding {
	launcher, found := s.launcher()
	if !found {
		return open("")
	}
	for _, c := range launcher.Status.ContainerStatuses {
		ended := c.State.Terminated
		switch {
		case c.Name != jobs.Main:
		case ended == nil && c.State.Running != nil:
			return passed("")
		case ended == nil:
		case ended.Reason == "StartError" || slices.Contains([]int32{notExecutable, notFound, startError}, ended.ExitCode):
			return failed(launcher, howItEnded(c), s.evidence(launcher, c))
		default:
			return passed("")
		}
	}
	return open("")
}

// judgeRanks wants a line of as many ranks as the hostfile has slots, from every host.
func judgeRanks(s *scene) finding {
	launcher, ended, found := s.finished()
	if !found {
		return s.unread()
	}
	hosts := map[string]int{}
	for _, rank := range s.ranks(launcher) {
		hosts[rank.host]++
	}
	ranks := len(s.ranks(launcher))
	said := fmt.Sprintf("%s on %s", count(ranks, "rank"), count(len(hosts), "host"))
	switch {
	case broken(ended):
		return failed(launcher, fmt.Sprintf("%s, and mpirun ended with exit code %d", said, ended.State.Terminated.ExitCode), s.evidence(launcher, ended))
	case len(hosts) != s.trial.hosts():
		return failed(launcher, fmt.Sprintf("%s, want %d: mpirun did not use the hostfile, or not over SSH", said, s.trial.hosts()), s.evidence(launcher, ended))
	case s.wanted() > 0 && ranks != s.wanted():
		return failed(launcher, fmt.Sprintf("%s, want %d ranks", said, s.wanted()), s.evidence(launcher, ended))
	}
	return passed(said)
}

// unread is for ranks of which nothing was seen, once nothing will be.
func (s *scene) unread() finding {
	if s.view.Outcome().Condition != complete || !s.quiet() {
		return open("")
	}
	return finding{status: Failed, detail: "the launcher's log could not be read, so nobody knows which ranks there were", evidence: s.unreadable}
}

// wanted is how many ranks the hostfile has slots for, or 0 where nobody says so.
func (s *scene) wanted() int {
	launcher, _ := s.launcher()
	verdict, err := jobs.View{Pods: []jobs.Pod{launcher}}.Verdict()
	if err != nil || verdict == nil {
		return 0
	}
	return verdict.Slots
}

// judgeEnvironment wants the TrainJob's variable in every rank.
func judgeEnvironment(s *scene) finding {
	launcher, ended, found := s.finished()
	if !found {
		return open("")
	}
	for _, rank := range s.ranks(launcher) {
		if rank.value != s.view.Job.Name {
			return failed(launcher, fmt.Sprintf("the rank on %s has no %s", rank.host, variable), s.evidence(launcher, ended))
		}
	}
	return passed("")
}

// judgeComplete wants the job to say what its launcher said.
func judgeComplete(s *scene) finding {
	switch outcome := s.view.Outcome(); outcome.Condition {
	case "":
		return open("")
	case complete:
		return passed("")
	default:
		return finding{status: Failed, detail: outcome.Message}
	}
}

// rank is what one rank said of itself.
type rank struct{ host, value string }

// ranks are those that the log of a launcher tells of which has ended.
func (s *scene) ranks(launcher jobs.Pod) []rank {
	return ranksIn(s.logs[string(launcher.UID)+jobs.Main])
}

// ranksIn are those that a launcher's log tells of.
func ranksIn(log string) []rank {
	var found []rank
	for line := range strings.Lines(log) {
		if _, said, is := strings.Cut(strings.TrimSpace(line), greeting); is {
			host, value, _ := strings.Cut(said, " with ")
			found = append(found, rank{host, value})
		}
	}
	return found
}

// finished is the launcher and its main container, once that has ended and its log was read.
func (s *scene) finished() (jobs.Pod, corev1.ContainerStatus, bool) {
	launcher, found := s.launcher()
	if !found {
		return jobs.Pod{}, corev1.ContainerStatus{}, false
	}
	_, read := s.logs[string(launcher.UID)+jobs.Main]
	for _, c := range launcher.Status.ContainerStatuses {
		if c.Name == jobs.Main && c.State.Terminated != nil {
			return launcher, c, read
		}
	}
	return jobs.Pod{}, corev1.ContainerStatus{}, false
}
