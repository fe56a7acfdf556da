package trial

import (
	"github.com/trainyard/trainyard/api/jobs"
)

// Status is what became of a check.
type Status string

const (
	// Open is a check that is not decided yet.
	Open Status = "open"
	// Passed is a check of which nothing is left to see.
	Passed Status = "passed"
	// Failed is a check that ended the trial.
	Failed Status = "failed"
	// NotReached is a check after one that failed.
	NotReached Status = "not reached"
)

// Check is one thing that can go wrong with a runtime.
type Check struct {
	// Name is short and stays: "image", "ssh".
	Name string `json:"name"`
	// Title says in words what is checked.
	Title string `json:"title"`
	// Status is what became of it.
	Status Status `json:"status"`
	// Seconds is when it was decided, since the TrainJob was created.
	Seconds float64 `json:"seconds,omitempty"`
	// Detail is what was found: how many of what, or what is wrong.
	Detail string `json:"detail,omitempty"`
	// Pod is where it failed.
	Pod string `json:"pod,omitempty"`
	// Evidence is what the pod or Kubernetes said about it, the last lines of a log.
	Evidence string `json:"evidence,omitempty"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
}

// finding is what a look at a job says about one check.
type finding struct {
	status   Status
	detail   string
	pod      *jobs.Pod
	evidence string
}

func open(detail string) finding   { return finding{status: Open, detail: detail} }
func passed(detail string) finding { return finding{status: Passed, detail: detail} }

// failed is a check that failed on a pod.
func failed(pod jobs.Pod, detail, evidence string) finding {
	return finding{status: Failed, detail: detail, pod: &pod, evidence: evidence}
}

// check is a Check, and how to come to a finding.
type check struct {
	Check
	judge func(*scene) finding
	// seen says that only what ranks say can pass it: a job that is Complete shows nothing of them.
	seen bool
}

// checksFor are the checks of a runtime, in the order in which things happen.
func checksFor(runtime jobs.Runtime) []check {
	var all []check
	add := func(name, title string, judge func(*scene) finding) {
		all = append(all, check{Check: Check{Name: name, Title: title, Status: Open}, judge: judge})
	}
	add("placed", "all pods are made and placed", judgePlaced)
	add("keys", "SSH keys, hostfile and volumes are mounted", judgeMounted)
	add("image", "the image is there", judgeImage)
	add("user", "containers start as their user", judgeUser)
	add("sshd", "sshd listens on every node", judgeSSHD)
	if runtime.HasPreflight() {
		add("dns", "names of all hosts resolve", judgeDNS)
		add("ssh", "the launcher reaches every host over SSH", judgeSSH)
		add("slots", "every host has room for its ranks", judgeSlots)
	}
	add("mpirun", "mpirun starts", judgeMpirun)
	add("ranks", "ranks start on every host", judgeRanks)
	add("environment", "the job's environment reaches every rank", judgeEnvironment)
	add("complete", "the TrainJob is Complete", judgeComplete)
	for i := range all {
		all[i].seen = all[i].Name == "ranks" || all[i].Name == "environment"
	}
	return all
}
