package runtimevet

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/resources"
)

// reservedVolume finds volumes and mounts that Trainer replaces with its own. Like Trainer, reservedVolume recognizes a
// volume by its name, and a mount by its path.
func reservedVolume(p *pass) {
	for _, job := range p.mpiJobs() {
		names, paths := []string{"mpi-ssh-auth"}, []string{p.keysDir()}
		if job.name() == launcherName {
			names, paths = append(names, "mpi-hostfile"), append(paths, hostfilePath)
		}
		for _, volume := range podSpec(job).get("volumes").listItems() {
			if slices.Contains(names, volume.name()) {
				p.addProblem(volume.get("name"), "Trainer replaces this volume with its own: give this volume another name, or remove it")
			}
		}
		for _, mount := range mainContainer(job).get("volumeMounts").listItems() {
			if v := mount.get("mountPath"); v.text() != "" && slices.Contains(paths, path.Clean(v.text())) {
				p.addProblem(v, "Trainer mounts its own volume at this path: write another path, or remove this mount")
			}
		}
	}
}

// reservedVariables lists environment variables that always get their value from Trainer. Trainer also sets
// OMPI_MCA_orte_set_default_slots, but a runtime is allowed to contain this variable. If a runtime contains
// OMPI_MCA_orte_set_default_slots, later variables of the runtime can refer to this variable. If a runtime does not
// contain OMPI_MCA_orte_set_default_slots, Trainer adds this variable after all variables of the runtime.
var reservedVariables = []string{"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_plm_rsh_args"}

func reservedVariable(p *pass) {
	for _, variable := range mainContainer(p.launcher).get("env").listItems() {
		if name := variable.name(); slices.Contains(reservedVariables, name) {
			p.addProblem(variable.get("name"), "Trainer silently replaces the value of %s: "+
				"remove this variable; if you need another value, set it with the option --mca of mpirun", name)
		}
	}
}

func brokenHostNames(p *pass) {
	network := p.jobSet.get("network")
	if v := network.get("publishNotReadyAddresses"); v.isFalse() {
		p.addProblem(v, "ranks cannot find each other while they start, because a pod has no DNS name before it is ready: write true")
	}
	if v := network.get("enableDNSHostnames"); v.isFalse() {
		p.addProblem(v, "with false, the pods do not have the DNS names that the host file contains: write true")
	}
	if v := network.get("subdomain"); v.text() != "" {
		p.addProblem(v, "all TrainJobs of a namespace need a Service with this name, but only one of them can create it: "+
			"remove \"subdomain\", so that each TrainJob gets its own Service")
	}
}

func inheritedLauncherArgs(p *pass) {
	if v := mainContainer(p.launcher).get("args"); len(v.listItems()) > 0 {
		p.note(v, "a TrainJob that sets a command but no args runs its command with these args: move all args into command")
	}
}

// openMPI5Hostfile finds launchers that pass no host file to PRRTE, which starts the ranks of Open MPI 5. Trainer
// passes the path of the host file in variables that PRRTE ignores. MPICH and Intel MPI do not use PRRTE, so
// openMPI5Hostfile ignores launchers that set HYDRA_HOST_FILE or I_MPI_HYDRA_HOST_FILE.
func openMPI5Hostfile(p *pass) {
	c := mainContainer(p.launcher)
	variables := []string{"PRTE_MCA_prte_default_hostfile", "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"}
	if c.isSet() && !hasSetting(c, variables, "-hostfile", "-machinefile") {
		p.note(c.get("env"), "with Open MPI 5, all ranks run on the launcher and the TrainJob still completes, because Open MPI 5 ignores the variables of Trainer: "+
			"set PRTE_MCA_prte_default_hostfile to /etc/mpi/hostfile")
	}
}

// coreBinding finds launchers that do not set how Open MPI or Intel MPI binds ranks to cores. Launchers with a variable
// of MPICH, such as HYDRA_LAUNCHER, are left out, because MPICH does not bind ranks by default.
func coreBinding(p *pass) {
	c := mainContainer(p.launcher)
	variables := []string{"OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy", "I_MPI_PIN", "I_MPI_PIN_DOMAIN", "HYDRA_HOST_FILE", "HYDRA_LAUNCHER"}
	if c.isSet() && !hasSetting(c, variables, "-bind-to", "-binding") {
		p.note(c.get("env"), "MPI binds the first rank of each pod to the first core of the cluster node, so the ranks of several pods share this core and can be 500 times slower: "+
			"set OMPI_MCA_hwloc_base_binding_policy and PRTE_MCA_hwloc_default_binding_policy to none for Open MPI, or I_MPI_PIN to 0 for Intel MPI")
	}
}

// hasSetting reports whether a container sets one of the variables, or has one of the options in its command or args.
func hasSetting(c value, variables []string, options ...string) bool {
	isSet := func(name string) bool { return c.get("env").named(name).isSet() }
	words := strings.Join(append(c.get("command").listTexts(), c.get("args").listTexts()...), " ")
	isGiven := func(option string) bool { return strings.Contains(words, option) }
	return slices.ContainsFunc(variables, isSet) || slices.ContainsFunc(options, isGiven)
}

// describeName returns a message if the name of a resource is invalid or misspelled, and otherwise "".
func describeName(name string) string {
	return cmp.Or(resources.DescribeInvalid(name), resources.DescribeMisspelling(name))
}

// invalidResourceName finds names of resources that no container can have, such as gpu.
func invalidResourceName(p *pass) {
	for _, job := range p.jobs.listItems() {
		pod := podSpec(job)
		for _, c := range slices.Concat(pod.get("initContainers").listItems(), pod.get("containers").listItems()) {
			for _, amounts := range []value{c.get("resources", "limits"), c.get("resources", "requests")} {
				for i, amount := range amounts.fields() {
					if complaint := describeName(amount.key()); complaint != "" {
						amount.at = amounts.node.Fields[i].Position
						p.addProblem(amount, "%s", complaint)
					}
				}
			}
		}
	}
}
