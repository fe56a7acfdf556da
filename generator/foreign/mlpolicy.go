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

// launcherApart: Trainer gives a TrainJob's environment and resources to the
// labelled job, and to the nodes only where the launcher is one of them.
func launcherApart(r runtime) []finding {
	v := r.mpi.get("runLauncherAsNode")
	if v.given() && !v.no() || !r.launcher.given() || !r.node.given() || r.ours() {
		return nil
	}
	return v.surprises("env and resourcesPerNode of a TrainJob reach the launcher only, which runs no ranks: " +
		"write true, or put all that nodes need into the runtime")
}

// rootUser: whatever folder the keys are in, root owns them, and ssh wants keys of
// the user's own to be nobody else's to read.
func rootUser(r runtime) []finding {
	var found []finding
	for _, role := range r.roles() {
		for _, v := range []value{
			role.get("template", "spec", "template", "spec", "securityContext", "runAsUser"),
			container(role).get("securityContext", "runAsUser"),
		} {
			if user, ok := v.number(); ok && user == 0 {
				found = append(found, v.breaks("root's ssh refuses key files with the modes that Trainer mounts, wherever they are: run as another user, such as 1000")...)
			}
		}
	}
	return found
}

func rootSSH(r runtime) []finding {
	return append(rootPath(r), rootUser(r)...)
}

func rootPath(r runtime) []finding {
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
	if r.ours() {
		return nil // Trainer is to count the GPUs that each TrainJob asks for
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
