package runtimevet

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/api/message"
)

// manyLaunchers refuses mlPolicy.numNodes above 1. Trainer applies mlPolicy.numNodes to the launcher, which is the
// ReplicatedJob whose label trainjob-ancestor-step has the value "trainer". If mlPolicy.numNodes is 2, Trainer
// therefore starts two launchers, and each launcher runs mpirun.
func manyLaunchers(p *pass) {
	v := p.root.get("spec", "mlPolicy", "numNodes")
	if number, ok := v.readInteger(); ok && number > 1 && p.launcher.isSet() {
		p.addProblem(v, "%d launchers start, and each runs mpirun: write 1, "+
			"and put the default number of nodes into parallelism and completions of the ReplicatedJob node", number)
	}
}

func unsupportedMPI(p *pass) {
	v := p.mpi.get("mpiImplementation")
	name, isText := v.node.Scalar.(string)
	switch {
	case !isText || name == "OpenMPI":
	case name == "":
		p.addProblem(v, "the API server admits an empty name, but Trainer then creates nothing for any TrainJob: write OpenMPI")
	default:
		p.addProblem(v, "the API server refuses %s, because Trainer writes host files for Open MPI only: "+
			"write OpenMPI, whichever MPI implementation the image contains; for an implementation other than Open MPI, also convert /etc/mpi/hostfile in the launcher", message.Quote(name))
	}
}

// launcherNotANode finds runtimes in which the variables and resources of a TrainJob do not reach the nodes. Trainer
// adds these variables and resources to the launcher, which is the ReplicatedJob whose label trainjob-ancestor-step has
// the value "trainer". Trainer adds them to the ReplicatedJob "node" only if the launcher is also a node.
func launcherNotANode(p *pass) {
	v := p.mpi.get("runLauncherAsNode")
	if v.isSet() && !v.isFalse() || !p.launcher.isSet() || !p.node.isSet() || p.isGenerated() {
		return
	}
	p.note(v, "env and resourcesPerNode of a TrainJob reach only the launcher, which runs no ranks: "+
		"write true, or put everything that nodes need into the runtime")
}

// rootSSHKeys finds runtimes in which root runs ssh, or in which the SSH keys are in the home folder of root. Trainer
// mounts the private key as a file that root owns and that a group can read. The owner and the mode of the file are the
// same for every value of sshAuthMountPath. If root runs ssh, ssh refuses a key with this owner and this mode.
func rootSSHKeys(p *pass) {
	v := p.mpi.get("sshAuthMountPath")
	shown := message.Quote(v.text())
	if !v.isSet() {
		shown = keysPath + " (the default)"
	}
	if strings.HasPrefix(p.keysDir()+"/", "/root/") {
		p.addProblem(v, "if root runs ssh, ssh refuses the key files at %s, because of the file modes that Trainer sets: "+
			"mount the keys outside of /root, for example in /home/mpiuser/.ssh, and run as another user", shown)
	}
	for _, job := range p.mpiJobs() {
		for _, context := range []value{podSpec(job), mainContainer(job)} {
			user := context.get("securityContext", "runAsUser")
			if id, ok := user.readInteger(); ok && id == 0 {
				p.addProblem(user, "if root runs ssh, ssh refuses the key files at every path, because of the file modes that Trainer sets: run as another user, such as 1000")
			}
		}
	}
}

func processCountIgnored(p *pass) {
	if p.isGenerated() {
		return // generated runtimes intentionally let Trainer count the GPUs of each TrainJob
	}
	v := p.mpi.get("numProcPerNode")
	number, ok := v.readInteger()
	if gpus := gpusPerNode(p.runtime); gpus > 1 && (!v.isSet() || ok && number == 1) {
		p.note(v, "%d processes start on each node, because Trainer replaces the value 1 of numProcPerNode, which is also the default, with the number of GPUs: "+
			"write %[1]d to confirm this number, and set numProcPerNode: 1 in TrainJobs that want one process", gpus)
	}
}

// gpusPerNode counts the GPUs of a node in the same way as Trainer. Trainer reads the main container of the first
// ReplicatedJob that has the name "node", or whose label trainjob-ancestor-step has the value "trainer". Source:
// ExtractResourcePerNodeFromRuntime in pkg/runtime/runtime.go of Trainer 2.1 to 2.3.
func gpusPerNode(r runtime) int {
	for _, job := range r.jobs.listItems() {
		if c := mainContainer(job); c.isSet() && (job.name() == nodeName || isTrainer(job)) {
			return cmp.Or(countGPUs(c.get("resources", "requests")), countGPUs(c.get("resources", "limits")))
		}
	}
	return 0
}

// countGPUs returns the amount of the resource whose name contains "gpu". If the names of several resources contain
// "gpu", Trainer chooses one resource at random, and countGPUs returns the largest amount.
func countGPUs(resources value) int {
	most := 0
	for _, v := range resources.fields() {
		count, err := strconv.ParseUint(cmp.Or(v.text(), v.node.Text), 10, 31)
		if err == nil && strings.Contains(strings.ToLower(v.key()), "gpu") {
			most = max(most, int(count)) //nolint:gosec // at most 31 bits
		}
	}
	return most
}
