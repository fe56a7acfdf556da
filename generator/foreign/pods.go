package foreign

import (
	"path"
	"slices"
	"strings"
)

// ownVolume: Trainer replaces volumes by name and mounts by path.
func ownVolume(r runtime) []finding {
	keys, ok := r.mpi.get("sshAuthMountPath").text()
	if !ok {
		keys = keysPath
	}
	var found []finding
	for _, job := range r.roles() {
		names, paths := []string{"mpi-ssh-auth"}, []string{path.Clean(keys)}
		if nameOf(job) == launcherName {
			names, paths = append(names, "mpi-hostfile"), append(paths, hostfilePath)
		}
		for _, volume := range pod(job).get("volumes").items() {
			if slices.Contains(names, nameOf(volume)) {
				found = append(found, volume.get("name").breaks("Trainer puts its own volume in place of this one: give it another name, or leave it out")...)
			}
		}
		for _, mount := range container(job).get("volumeMounts").items() {
			at := mount.get("mountPath")
			if text, ok := at.text(); ok && slices.Contains(paths, path.Clean(text)) {
				found = append(found, at.breaks("Trainer mounts its own volume here instead: mount this one elsewhere, or leave it out")...)
			}
		}
	}
	return found
}

// reserved are the variables whose value Trainer alone decides. It sets
// OMPI_MCA_orte_set_default_slots too, but to list that one only fixes its place.
var reserved = []string{"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_plm_rsh_args"}

func reservedEnv(r runtime) []finding {
	var found []finding
	for _, variable := range container(r.launcher).get("env").items() {
		if name := nameOf(variable); slices.Contains(reserved, name) {
			found = append(found, variable.get("name").breaks("Trainer replaces the value of %s without a word: "+
				"leave it out, and put other settings into the command or into Open MPI's own files", name)...)
		}
	}
	return found
}

func jobNetwork(r runtime) []finding {
	network := r.jobSet.get("network")
	var found []finding
	if v := network.get("publishNotReadyAddresses"); v.no() {
		found = append(found, v.breaks("pods have no name before they are ready, so ranks cannot find each other while they start: write true")...)
	}
	if v := network.get("enableDNSHostnames"); v.no() {
		found = append(found, v.breaks("the names in the host file do not exist: write true")...)
	}
	if v := network.get("subdomain"); said(v) {
		found = append(found, v.breaks("every TrainJob of a namespace claims one Service of this name, and only one can have it: "+
			"leave it out, and each gets its own")...)
	}
	return found
}

// said tells whether a value is text, and not empty.
func said(v value) bool {
	text, _ := v.text()
	return text != ""
}

func launcherArgs(r runtime) []finding {
	v := container(r.launcher).get("args")
	if len(v.items()) == 0 {
		return nil
	}
	return v.surprises("a TrainJob that sets a command but no args runs its command with these: put all of it into command")
}

// openMPI5: PRRTE does not read the variables that Trainer sets.
func openMPI5(r runtime) []finding {
	c := container(r.launcher)
	if !c.given() {
		return nil
	}
	for _, name := range []string{"PRTE_MCA_prte_default_hostfile", "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"} {
		if env(c, name).given() {
			return nil
		}
	}
	for _, word := range append(texts(c.get("command")), texts(c.get("args"))...) {
		if strings.Contains(word, "-hostfile") || strings.Contains(word, "-machinefile") {
			return nil
		}
	}
	return c.get("env").surprises("Open MPI 5 does not read what Trainer sets, so all its ranks run on the launcher and the TrainJob completes all the same: " +
		"set PRTE_MCA_prte_default_hostfile to /etc/mpi/hostfile")
}
