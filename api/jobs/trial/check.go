package trial

import (
	"github.com/trainyard/trainyard/api/jobs"
)

// Status is the state of a check: open, passed, failed or not reached.
type Status string

const (
	// Open is the status of a check that is not decided yet.
	Open Status = "open"
	// Passed is the status of a check that succeeded.
	Passed Status = "passed"
	// Failed is the status of a check that failed. When a check fails, the trial ends.
	Failed Status = "failed"
	// NotReached is the status of a check that was still open when the trial ended.
	NotReached Status = "not reached"
)

// Check is one step of a trial, together with the result of the step.
type Check struct {
	// Name is a short, stable identifier, such as "image" or "ssh".
	Name string `json:"name"`
	// Title describes the condition under which the check passes, for example "mpirun starts".
	Title string `json:"title"`
	// Status is Open while the check waits, and changes to Passed or Failed when the check is decided. At the end of
	// the trial, the status of each check that is still open changes to NotReached.
	Status Status `json:"status"`
	// Seconds is the time from the start of the trial until the check passed or failed. In a report about a waiting
	// check, Seconds is the time from the start of the trial until the report.
	Seconds float64 `json:"seconds,omitempty"`
	// Detail describes the result of the check, for example "3 hosts", or the problem that the check found. In a report
	// about a waiting check, Detail says why the check waits.
	Detail string `json:"detail,omitempty"`
	// Pod is the name of the pod that caused the failure of the check.
	Pod string `json:"pod,omitempty"`
	// Evidence is a message of Kubernetes, or the last lines of a log.
	Evidence string `json:"evidence,omitempty"`
	// Code is the name of the recognized failure, such as ImageNeverPulled. docs/troubleshooting.md lists all codes.
	Code string `json:"code,omitempty"`
	// Hint says what the failure means, and what to do.
	Hint string `json:"hint,omitempty"`
}

// finding is the result of one check for one observed state of the TrainJob.
type finding struct {
	status   Status
	detail   string
	pod      *jobs.Pod
	evidence string
	// hosts lists the hosts that preflight could not use.
	hosts []jobs.HostFailure
}

func open(detail string) finding   { return finding{status: Open, detail: detail} }
func passed(detail string) finding { return finding{status: Passed, detail: detail} }

// failedFinding returns a finding with the status Failed and the pod that caused the failure.
func failedFinding(pod jobs.Pod, detail, evidence string) finding {
	return finding{status: Failed, detail: detail, pod: &pod, evidence: evidence}
}

// check is a Check, together with the function that computes its result.
type check struct {
	Check
	run func(*observation) finding
	// needsLog is true if the check can pass only after the launcher's log was read. needsLog is true for the checks
	// about ranks ("ranks" and "environment"). These checks must not pass without evidence, because a TrainJob can be
	// Complete although some ranks have not run. If needsLog is false, the check passes even without evidence when the
	// TrainJob has reached a later check (see lastReached).
	needsLog bool
}

// listChecks returns the checks for a runtime. The order of the checks follows the progress of a TrainJob. The first
// check passes when all pods are scheduled, and the last check passes when the TrainJob is Complete.
func listChecks(runtime jobs.Runtime) []check {
	var all []check
	add := func(name, title string, run func(*observation) finding) {
		all = append(all, check{Check: Check{Name: name, Title: title, Status: Open}, run: run})
	}
	add("placed", "all pods are created and scheduled", checkPlaced)
	add("keys", "SSH keys, hostfile and volumes are mounted", checkMounted)
	add("image", "the image is on the cluster node of every pod", checkImage)
	add("user", "containers start with the pod's user", checkUser)
	add("sshd", "sshd listens on every node", checkSSHD)
	if runtime.HasPreflight() {
		add("dns", "names of all hosts resolve", checkDNS)
		add("ssh", "the launcher reaches every host over SSH", checkSSH)
		add("slots", "every host has room for its ranks", checkSlots)
	}
	add("mpirun", "mpirun starts", checkMpirun)
	add("ranks", "ranks start on every host", checkRanks)
	add("environment", "environment variables of the TrainJob reach every rank", checkEnvironment)
	add("complete", "the TrainJob is Complete", checkComplete)
	for i := range all {
		all[i].needsLog = all[i].Name == "ranks" || all[i].Name == "environment"
	}
	return all
}
