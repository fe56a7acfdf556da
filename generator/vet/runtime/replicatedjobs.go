package runtimevet

import (
	"slices"

	"github.com/trainyard/trainyard/api/message"
)

// missingLauncher reports runtimes without a ReplicatedJob called "launcher". missingLauncher reports the problem at
// the ReplicatedJob that is probably the launcher. If no ReplicatedJob is likely to be the launcher, missingLauncher
// reports the problem at the list of ReplicatedJobs.
func missingLauncher(p *pass) {
	if p.launcher.isSet() {
		return
	}
	for _, job := range p.otherJobs() {
		if isTrainer(job) {
			p.addProblem(job.get("name"), "%s cannot reach any host, because Trainer gives the host file only to a ReplicatedJob called launcher: "+
				"rename this ReplicatedJob to launcher", message.Quote(job.name()))
			return
		}
	}
	p.addProblem(p.jobs, "no pod gets the host file, because Trainer gives it only to a ReplicatedJob called launcher: add a ReplicatedJob called launcher that runs mpirun")
}

// missingNode finds runtimes that have a ReplicatedJob "launcher" but no ReplicatedJob "node". Only TrainJobs with numNodes
// 1 can use a runtime without the ReplicatedJob "node".
func missingNode(p *pass) {
	if !p.launcher.isSet() || p.node.isSet() {
		return
	}
	if others := p.otherJobs(); len(others) > 0 {
		p.addProblem(others[0].get("name"), "no rank ever runs on %s, because Trainer puts only launcher and node into the host file: "+
			"rename this ReplicatedJob to node", message.Quote(others[0].name()))
		return
	}
	p.note(p.jobs, "TrainJobs can only have numNodes 1, because the launcher is the only ReplicatedJob: add a ReplicatedJob called node that runs sshd")
}

// wrongContainerName finds jobs without a container called "node". If a job has only one container, wrongContainerName
// reports the problem at the container's name, because the user must change this name.
func wrongContainerName(p *pass) {
	for _, job := range p.mpiJobs() {
		if mainContainer(job).isSet() {
			continue
		}
		v := podSpec(job).get("containers")
		if containers := v.listItems(); len(containers) == 1 {
			v = containers[0].get("name")
		}
		p.addProblem(v, "%s gets no SSH keys, host file or environment, because Trainer adds them only to a container called node: "+
			"call its main container node", job.name())
	}
}

func wrongAncestorLabel(p *pass) {
	if p.launcher.isSet() && !isTrainer(p.launcher) {
		p.addProblem(stepLabel(p.launcher), "image, command and args of a TrainJob do not reach the launcher without this label: "+
			"set the label %s: trainer on its Job template", ancestorLabel)
	}
	if isTrainer(p.node) {
		p.addProblem(stepLabel(p.node), "the command of a TrainJob replaces sshd on the nodes, because all pods with this label run that command: "+
			"label only the launcher")
	}
}

func wrongReplicaCount(p *pass) {
	v := p.launcher.get("replicas")
	if number, ok := v.readInteger(); ok && number != 1 {
		p.addProblem(v, "the cluster refuses every number of launchers except one: write 1")
	}
	v = p.node.get("replicas")
	if number, ok := v.readInteger(); ok && number > 1 {
		p.addProblem(v, "all replicas except the first stay idle, because the host file does not list their pods: "+
			"write 1, and put the number of nodes into parallelism and completions")
	}
}

// endsEarly returns the name of a ReplicatedJob that completes before the launcher, such as an initializer. endsEarly
// assumes that all ReplicatedJobs except launcher and node complete before the launcher. If the argument "names" is not
// empty, endsEarly considers only ReplicatedJobs with these names. If there is no such ReplicatedJob, the result is
// empty.
func (p *pass) endsEarly(names []string) string {
	for _, job := range p.jobs.listItems() {
		name := job.name()
		if name != launcherName && name != nodeName && (len(names) == 0 || slices.Contains(names, name)) {
			return name
		}
	}
	return ""
}

// wrongSuccessPolicy checks that a TrainJob succeeds when the launcher completes. If the success policy lists no
// targets, all ReplicatedJobs are targets. With the operator Any, the TrainJob succeeds as soon as one target
// completes. Nodes never complete. If a runtime consists only of launcher and nodes, the TrainJob therefore succeeds
// when the launcher completes. Such a runtime can use Any without a list of targets.
func wrongSuccessPolicy(p *pass) {
	if !p.launcher.isSet() {
		return
	}
	policy := p.jobSet.get("successPolicy")
	targets, isAny := policy.get("targetReplicatedJobs"), policy.get("operator").text() == "Any"
	names := targets.listTexts()
	node := slices.Index(names, nodeName)
	switch {
	case isAny && p.endsEarly(names) != "":
		p.addProblem(policy, "the TrainJob succeeds when %s has completed, before mpirun runs: write operator: All and targetReplicatedJobs: [launcher]", p.endsEarly(names))
	case isAny && len(names) == 0:
	case len(names) == 0:
		p.addProblem(targets, "the TrainJob waits for every ReplicatedJob, and sshd on the nodes never ends: write targetReplicatedJobs: [launcher]")
	case !slices.Contains(names, launcherName):
		p.addProblem(targets, "the TrainJob does not wait for mpirun, which runs on the launcher: write [launcher]")
	case node >= 0 && !isAny:
		p.addProblem(targets.listItems()[node], "the TrainJob waits for the nodes, on which sshd never ends: remove the ReplicatedJob node from targetReplicatedJobs")
	}
}

func impossibleDependency(p *pass) {
	earlier := map[string]bool{}
	for i, job := range p.jobs.listItems() {
		dependencies := job.get("dependsOn")
		switch {
		case i > 0:
			for _, dependency := range dependencies.listItems() {
				p.checkDependency(job, dependency, earlier)
			}
		case len(dependencies.listItems()) > 0:
			p.addProblem(dependencies, "JobSet refuses dependencies of the first ReplicatedJob: list this ReplicatedJob after the ReplicatedJobs on which it depends")
		}
		earlier[job.name()] = true
	}
}

// checkDependency checks one dependency of a job. The argument "earlier" contains the names of the jobs that
// precede this job in the list of ReplicatedJobs.
func (p *pass) checkDependency(job, dependency value, earlier map[string]bool) {
	target, status := dependency.get("name"), dependency.get("status")
	name, isText := target.node.Scalar.(string)
	waitsForEnd := p.mpi.isSet() && status.text() == "Complete"
	switch {
	case isText && !earlier[name]:
		p.addProblem(target, "JobSet refuses the dependency or waits forever, because %s is not listed before %s: "+
			"name an earlier ReplicatedJob, or change the order", message.Quote(name), message.Quote(job.name()))
	case waitsForEnd && name == nodeName:
		p.addProblem(status, "%s never starts, because sshd on the nodes never ends: write Ready", message.Quote(job.name()))
	case waitsForEnd && name == launcherName && job.name() == nodeName:
		p.addProblem(status, "the nodes start only when mpirun has ended, and mpirun waits for the nodes: remove this dependency")
	}
}

func rerunAfterTTL(p *pass) {
	if v := p.jobSet.get("ttlSecondsAfterFinished"); v.isSet() {
		p.note(v, "up to Trainer 2.3, a failed TrainJob runs again when its JobSet is deleted: remove ttlSecondsAfterFinished, and delete TrainJobs instead")
	}
}
