package trial

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/api/jobs"
)

// checkSSHD passes when every node is ready. checkSSHD fails if the container of a node ends with an error before
// mpirun has ended, because sshd should run until Kubernetes stops the container.
func checkSSHD(o *observation) finding {
	ready := 0
	var missing []string
	for _, pod := range o.podsOf(jobs.Node) {
		for _, c := range pod.Status.ContainerStatuses {
			if hasFailed(c) && !o.mpirunEnded() {
				return failedFinding(pod, fmt.Sprintf("%s: %s", pod, exitMessage(c)), o.lastOutput(pod, c))
			}
		}
		if isReady(pod) {
			ready++
		} else {
			missing = append(missing, pod.String())
		}
	}
	if ready == int(o.options.Nodes) {
		return passed("on " + countNoun(ready, "node"))
	}
	return open("waiting for " + strings.Join(missing, ", "))
}

func isReady(pod jobs.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// checkDNS, checkSSH and checkSlots read the verdict of preflight. The verdict lists the hosts that the launcher
// cannot use, with a cause for each host. Each of the three checks looks for different causes.
func checkDNS(o *observation) finding {
	return o.checkVerdict(func(cause string) bool { return cause == "unresolvable" }, func(v jobs.Verdict) string {
		return countNoun(v.Hosts, "host")
	})
}

func checkSSH(o *observation) finding {
	return o.checkVerdict(func(cause string) bool { return cause != "unresolvable" && cause != "slots" }, func(v jobs.Verdict) string {
		slowest := 0
		for _, ms := range v.Milliseconds {
			if ms != nil {
				slowest = max(slowest, *ms)
			}
		}
		return fmt.Sprintf("%s, the last after %.1f s", countNoun(v.Hosts, "host"), float64(slowest)/1000)
	})
}

func checkSlots(o *observation) finding {
	return o.checkVerdict(func(cause string) bool { return cause == "slots" }, func(v jobs.Verdict) string {
		return fmt.Sprintf("%d wanted, room for %d", v.Slots, v.Available)
	})
}

// checkVerdict returns the finding of one check. The function "concerns" returns true for the causes that matter for
// this check. If the verdict contains such a cause, and all pods have started, the check fails. If the verdict contains
// such a cause, but some pods have not started yet, the finding has the status Open. The reason is that preflight
// cannot reach a pod that has not started. The check also fails if the verdict lists no failed host, but preflight
// reached fewer hosts than the hostfile lists. If the check passes, the function "detail" returns the text for
// Check.Detail.
func (o *observation) checkVerdict(concerns func(cause string) bool, detail func(jobs.Verdict) string) finding {
	launcher := o.launcherPod()
	verdict, err := o.readVerdict()
	if err != nil {
		return failedFinding(launcher, err.Error(), "")
	}
	if verdict == nil {
		return o.noVerdict(launcher)
	}
	var bad []jobs.HostFailure
	var lines []string
	for _, f := range verdict.Failed {
		if concerns(f.Cause) {
			bad, lines = append(bad, f), append(lines, f.String())
		}
	}
	if len(bad) > 0 && o.startedPods() < o.expectedPods() {
		return open("") // a pod that has not started cannot be reached yet
	}
	if len(bad) > 0 {
		found := failedFinding(launcher, lines[0], strings.Join(lines, "\n"))
		found.hosts = bad
		return found
	}
	if len(verdict.Failed) == 0 && verdict.Reached < verdict.Hosts {
		return failedFinding(launcher, fmt.Sprintf("%d of %s reached", verdict.Reached, countNoun(verdict.Hosts, "host")), "")
	}
	return passed(detail(*verdict))
}

// noVerdict returns the finding for a preflight that still runs, or that ended without a verdict.
func (o *observation) noVerdict(launcher jobs.Pod) finding {
	for _, c := range launcher.Status.InitContainerStatuses {
		switch {
		case c.Name != jobs.PreflightContainer:
		case hasFailed(c):
			return failedFinding(launcher, exitMessage(c), o.lastOutput(launcher, c))
		case c.State.Running != nil:
			return open("the launcher connects to all hosts")
		}
	}
	return open("")
}

func (o *observation) mpirunEnded() bool {
	return mainStatus(o.launcherPod()).State.Terminated != nil
}

// The following exit codes mean that a shell or the container runtime could not start a program.
const (
	notExecutable = 126
	notFound      = 127
	startError    = 128
)

// checkMpirun passes when the launcher's program has started.
func checkMpirun(o *observation) finding {
	launcher := o.launcherPod()
	c := mainStatus(launcher)
	ended := c.State.Terminated
	switch {
	case ended == nil && c.State.Running == nil:
		return open("")
	case ended != nil && (ended.Reason == "StartError" || slices.Contains([]int32{notExecutable, notFound, startError}, ended.ExitCode)):
		return failedFinding(launcher, exitMessage(c), o.lastOutput(launcher, c))
	}
	return passed("")
}

// checkRanks counts the lines that ranks printed to the launcher's log. checkRanks passes if mpirun succeeded,
// at least one rank ran on every host, and the number of ranks equals the number of slots in the verdict.
// Without a verdict, checkRanks accepts any number of ranks.
func checkRanks(o *observation) finding {
	launcher, ended, found := o.findFinishedLauncher()
	if !found {
		return o.missingLog()
	}
	hosts := map[string]int{}
	all := o.ranks(launcher)
	for _, rank := range all {
		hosts[rank.host]++
	}
	detail := fmt.Sprintf("%s on %s", countNoun(len(all), "rank"), countNoun(len(hosts), "host"))
	switch {
	case hasFailed(ended):
		return failedFinding(launcher, fmt.Sprintf("%s started, and then mpirun ended with exit code %d", detail, ended.State.Terminated.ExitCode), o.lastOutput(launcher, ended))
	case len(hosts) != o.countHosts():
		return failedFinding(launcher, fmt.Sprintf("%s, want %s: mpirun did not use the hostfile, or did not use SSH", detail, countNoun(o.countHosts(), "host")), o.lastOutput(launcher, ended))
	case o.wantedRanks() > 0 && len(all) != o.wantedRanks():
		return failedFinding(launcher, fmt.Sprintf("%s, want %d ranks", detail, o.wantedRanks()), o.lastOutput(launcher, ended))
	}
	return passed(detail)
}

// missingLog returns a failed finding if the TrainJob has been Complete for logGracePeriod, but the launcher's log
// could not be read.
func (o *observation) missingLog() finding {
	if o.snapshot.Outcome().Condition != completeCondition || !o.isFinal() {
		return open("")
	}
	return finding{status: Failed, detail: "the launcher's log could not be read, so the ranks are unknown", evidence: o.logError}
}

// wantedRanks returns the number of slots in the hostfile, as reported in the verdict. wantedRanks returns 0
// if there is no verdict.
func (o *observation) wantedRanks() int {
	verdict, err := o.readVerdict()
	if err != nil || verdict == nil {
		return 0
	}
	return verdict.Slots
}

// checkEnvironment passes if every rank has the environment variable that the TrainJob sets.
func checkEnvironment(o *observation) finding {
	launcher, ended, found := o.findFinishedLauncher()
	if !found {
		return open("")
	}
	for _, rank := range o.ranks(launcher) {
		if rank.value != o.snapshot.Job.Name {
			return failedFinding(launcher, fmt.Sprintf("the rank on host %s did not get the environment variable %s from the TrainJob", rank.host, testVariable), o.lastOutput(launcher, ended))
		}
	}
	return passed("")
}

// checkComplete passes when the TrainJob has the condition Complete, and fails when the TrainJob has failed.
func checkComplete(o *observation) finding {
	switch outcome := o.snapshot.Outcome(); outcome.Condition {
	case "":
		return open("")
	case completeCondition:
		return passed("")
	default:
		return finding{status: Failed, detail: outcome.Message}
	}
}

// rankReport is the output of one rank: the name of its host, and the value of the environment variable
// TRAINYARD_RUNTIME_TEST.
type rankReport struct{ host, value string }

func (o *observation) ranks(launcher jobs.Pod) []rankReport {
	return ranksIn(o.logs[string(launcher.UID)+jobs.MainContainer])
}

func ranksIn(log string) []rankReport {
	var found []rankReport
	for line := range strings.Lines(log) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), rankPrefix); ok {
			host, value, _ := strings.Cut(text, " with ")
			found = append(found, rankReport{host, value})
		}
	}
	return found
}

// findFinishedLauncher returns the launcher and the status of its main container. The third return value is true if the
// container has ended and its log was read.
func (o *observation) findFinishedLauncher() (jobs.Pod, corev1.ContainerStatus, bool) {
	launcher := o.launcherPod()
	c := mainStatus(launcher)
	_, read := o.logs[string(launcher.UID)+jobs.MainContainer]
	return launcher, c, read && c.State.Terminated != nil
}
