package trial

import (
	"github.com/trainyard/trainyard/api/jobs"
)

// Status is the status of a check.
type Status string

const (
	// Open is the status of a check that is not decided yet.
	Open Status = "open"
	// Passed is the status of a check that succeeded.
	Passed Status = "passed"
	// Failed is the status of the check that ended the trial.
	Failed Status = "failed"
	// NotReached is the status of checks after the failed one.
	NotReached Status = "not reached"
)

// Check is one step of a trial, and its result.
type Check struct {
	// Name is a short, stable identifier, such as "image" or "ssh".
	Name string `json:"name"`
	// Title is the condition that is checked.
	Title string `json:"title"`
	// Status is the status of the check.
	Status Status `json:"status"`
	// Seconds is the time from the creation of the TrainJob until the check was decided.
	Seconds float64 `json:"seconds,omitempty"`
	// Detail is a count, or the problem.
	Detail string `json:"detail,omitempty"`
	// Pod is the name of the pod that failed.
	Pod string `json:"pod,omitempty"`
	// Evidence is a message of Kubernetes, or the last lines of a log.
	Evidence string `json:"evidence,omitempty"`
	// Hint is a possible solution.
	Hint string `json:"hint,omitempty"`
}

// finding is the result of one check on one observation.
type finding struct {
	status   Status
	detail   string
	pod      *jobs.Pod
	evidence string
}

func open(detail string) finding   { return finding{status: Open, detail: detail} }
func passed(detail string) finding { return finding{status: Passed, detail: detail} }

// failed is the finding of a check that failed on a pod.
func failed(pod jobs.Pod, detail, evidence string) finding {
	return finding{status: Failed, detail: detail, pod: &pod, evidence: evidence}
}

// check is a Check and its function.
type check struct {
	Check
	run func(*observation) finding
	// needsLog means that only the log of the ranks can pass the check. A Complete TrainJob does not show that the
	// ranks ran.
	needsLog bool
}

// checksFor are the checks of a runtime, in order.
func checksFor(runtime jobs.Runtime) []check {
	var all []check
	add := func(name, title string, run func(*observation) finding) {
		all = append(all, check{Check: Check{Name: name, Title: title, Status: Open}, run: run})
	}
	add("placed", "all pods are created and scheduled", checkPlaced)
	add("keys", "SSH keys, hostfile and volumes are mounted", checkMounted)
	add("image", "the image is on every cluster node", checkImage)
	add("user", "containers start as their user", checkUser)
	add("sshd", "sshd listens on every node", checkSSHD)
	if runtime.HasPreflight() {
		add("dns", "names of all hosts resolve", checkDNS)
		add("ssh", "the launcher reaches every host over SSH", checkSSH)
		add("slots", "every host has room for its ranks", checkSlots)
	}
	add("mpirun", "mpirun starts", checkMpirun)
	add("ranks", "ranks start on every host", checkRanks)
	add("environment", "the job's environment reaches every rank", checkEnvironment)
	add("complete", "the TrainJob is Complete", checkComplete)
	for i := range all {
		all[i].needsLog = all[i].Name == "ranks" || all[i].Name == "environment"
	}
	return all
}
