package foreign

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// manyLaunchers: Trainer gives mlPolicy.numNodes to the ReplicatedJob with the
// ancestor label, which is the launcher.
func manyLaunchers(r runtime) []finding {
	nodes := r.root.get("spec", "mlPolicy", "numNodes")
	number, ok := nodes.number()
	if !ok || number <= 1 || !r.launcher.given() {
		return nil
	}
	return nodes.breaks("this many launchers start, and each of the %d runs mpirun: write 1, "+
		"and put the default number of nodes into parallelism and completions of the ReplicatedJob node", number)
}

func implementation(r runtime) []finding {
	v := r.mpi.get("mpiImplementation")
	switch name, ok := v.text(); {
	case !ok || name == "OpenMPI":
		return nil
	case name == "":
		return v.breaks("the API server admits this, but Trainer then makes nothing for any TrainJob: write OpenMPI")
	default:
		return v.breaks("the API server refuses %s, because Trainer makes host files for Open MPI only: "+
			"write OpenMPI, and convert /etc/mpi/hostfile in the launcher for another MPI", problem.Quote(name))
	}
}

func rootSSH(r runtime) []finding {
	v := r.mpi.get("sshAuthMountPath")
	where, ok := v.text()
	shown := problem.Quote(where)
	switch clean := path.Clean(where); {
	case !v.given():
		shown = keysPath + ", the default"
	case !ok || clean != "/root" && !strings.HasPrefix(clean, "/root/"):
		return nil
	}
	return v.breaks("keys are mounted at %s, with modes that ssh refuses when it runs as root: "+
		"write a folder that is not root's, such as /home/mpiuser/.ssh, and run as another user", shown)
}

func oneProcess(r runtime) []finding {
	if r.root.get("metadata", "labels", "trainyard.dev/runtime").given() {
		return nil // ours says 1 on purpose: Trainer is to count the GPUs that each TrainJob asks for
	}
	v := r.mpi.get("numProcPerNode")
	if number, ok := v.number(); v.given() && (!ok || number != 1) {
		return nil
	}
	count := gpusPerNode(r)
	if count <= 1 {
		return nil
	}
	return v.surprises("1 turns into the number of GPUs, so %d processes start on each node: "+
		"write %[1]d if that is meant, and numProcPerNode: 1 into TrainJobs that want one", count)
}

// gpusPerNode counts the GPUs as Trainer does: those of the first ReplicatedJob
// that is called node or has the ancestor label.
// Source: ExtractResourcePerNodeFromRuntime in pkg/runtime/runtime.go of Trainer 2.1 to 2.3.
func gpusPerNode(r runtime) int {
	for _, job := range r.jobs.items() {
		if c := container(job); c.given() && (nameOf(job) == nodeName || trains(job)) {
			if requested := gpus(c.get("resources", "requests")); requested > 0 {
				return requested
			}
			return gpus(c.get("resources", "limits"))
		}
	}
	return 0
}

var wholeNumber = regexp.MustCompile(`^[0-9]{1,9}$`)

// gpus is the most of any resource with gpu in its name: of several, Trainer takes one at random.
func gpus(resources value) int {
	most := 0
	for _, v := range resources.fields() {
		if !strings.Contains(strings.ToLower(v.key()), "gpu") || !v.given() {
			continue
		}
		text, ok := v.text()
		if !ok {
			text = v.node.Text
		}
		if wholeNumber.MatchString(text) {
			count, _ := strconv.Atoi(text)
			most = max(most, count)
		}
	}
	return most
}
