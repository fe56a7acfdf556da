package foreign

import (
	"slices"

	"github.com/trainyard/trainyard/generator/problem"
)

// launcherMissing points at the ReplicatedJob that was probably meant.
func launcherMissing(r runtime) []finding {
	if r.launcher.given() {
		return nil
	}
	for _, job := range r.others() {
		if trains(job) {
			return job.get("name").breaks("Trainer gives the host file to a ReplicatedJob called launcher and to no other, so %s cannot reach any host: "+
				"call it launcher", problem.Quote(nameOf(job)))
		}
	}
	return r.jobs.breaks("Trainer gives the host file to a ReplicatedJob called launcher, and there is none: add one that runs mpirun")
}

// nodeMissing: on its own a launcher works as long as no TrainJob wants a second node.
func nodeMissing(r runtime) []finding {
	if !r.launcher.given() || r.node.given() {
		return nil
	}
	if others := r.others(); len(others) > 0 {
		return others[0].get("name").breaks("Trainer puts only launcher and node into the host file, so no rank ever runs on %s: "+
			"call it node", problem.Quote(nameOf(others[0])))
	}
	return r.jobs.surprises("the launcher stands alone, so TrainJobs can only have numNodes 1: add a ReplicatedJob called node that runs sshd")
}

// containerName points at the name to change where there is only one.
func containerName(r runtime) []finding {
	var found []finding
	for _, job := range r.roles() {
		if container(job).given() {
			continue
		}
		where := pod(job).get("containers")
		if containers := where.items(); len(containers) == 1 {
			where = containers[0].get("name")
		}
		found = append(found, where.breaks("Trainer mounts keys and host file and sets the environment only in a container called node, "+
			"and %s has none: call its main container node", nameOf(job))...)
	}
	return found
}

func ancestorLabels(r runtime) []finding {
	var found []finding
	if r.launcher.given() && !trains(r.launcher) {
		found = append(found, ancestor(r.launcher).breaks("image, command and args of TrainJobs land where this label is, and are dropped if it is nowhere: "+
			"label the launcher's Job template %s: trainer", ancestorLabel)...)
	}
	if trains(r.node) {
		found = append(found, ancestor(r.node).breaks("the command of a TrainJob lands where this label is, so it replaces sshd: "+
			"leave the label to the launcher")...)
	}
	return found
}

func replicas(r runtime) []finding {
	var found []finding
	v := r.launcher.get("replicas")
	if number, ok := v.number(); ok && number != 1 {
		found = append(found, v.breaks("the cluster refuses any number of launchers but one: write 1")...)
	}
	v = r.node.get("replicas")
	if number, ok := v.number(); ok && number > 1 {
		found = append(found, v.breaks("the host file lists pods of the first replica only, so the others stay idle: "+
			"write 1, and the number of nodes into parallelism and completions")...)
	}
	return found
}

// successPolicy: under Any the first job that completes is enough, and of
// launcher and node only the launcher can.
func successPolicy(r runtime) []finding {
	if !r.launcher.given() {
		return nil
	}
	policy := r.jobSet.get("successPolicy")
	targets := policy.get("targetReplicatedJobs")
	names := texts(targets)
	operator, _ := policy.get("operator").text()
	launcher, node := slices.Contains(names, launcherName), slices.Index(names, nodeName)
	switch {
	case operator == "Any" && len(names) == 0:
		return nil
	case len(names) == 0:
		return targets.breaks("the TrainJob waits for every ReplicatedJob, and sshd on the nodes never ends: write targetReplicatedJobs: [launcher]")
	case !launcher:
		return targets.breaks("the TrainJob does not wait for mpirun, which runs on the launcher: write [launcher]")
	case node >= 0 && operator != "Any":
		return targets.items()[node].breaks("the TrainJob waits for sshd on the nodes, which never ends: leave node out")
	}
	return nil
}

// texts lists the strings of a list; other items count as "".
func texts(list value) []string {
	var all []string
	for _, item := range list.items() {
		text, _ := item.text()
		all = append(all, text)
	}
	return all
}

func dependsOn(r runtime) []finding {
	var found []finding
	earlier := map[string]bool{}
	for i, job := range r.jobs.items() {
		on := job.get("dependsOn")
		for _, dependency := range on.items() {
			if i == 0 {
				found = append(found, on.breaks("JobSet refuses it for the first ReplicatedJob: list this one after those that it waits for")...)
				break
			}
			found = append(found, waits(r, job, dependency, earlier)...)
		}
		earlier[nameOf(job)] = true
	}
	return found
}

// waits judges one dependency of a ReplicatedJob.
func waits(r runtime, job, dependency value, earlier map[string]bool) []finding {
	status := dependency.get("status")
	wanted, _ := status.text()
	switch name, ok := dependency.get("name").text(); {
	case ok && !earlier[name]:
		return dependency.get("name").breaks("%s is not listed before %s, so JobSet refuses the dependency or waits forever: "+
			"name an earlier ReplicatedJob, or change their order", problem.Quote(name), problem.Quote(nameOf(job)))
	case r.mpi.given() && name == nodeName && wanted == "Complete":
		return status.breaks("sshd on the nodes never ends, so %s never starts: write Ready", problem.Quote(nameOf(job)))
	case r.mpi.given() && name == launcherName && nameOf(job) == nodeName && wanted == "Complete":
		return status.breaks("nodes start when mpirun has ended, which waits for them: leave the dependency out")
	}
	return nil
}

func finishedTTL(r runtime) []finding {
	v := r.jobSet.get("ttlSecondsAfterFinished")
	if !v.given() {
		return nil
	}
	return v.surprises("the JobSet is deleted, and up to Trainer 2.3 a failed TrainJob without a JobSet runs again: leave it out, and delete TrainJobs instead")
}
