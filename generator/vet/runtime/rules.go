package runtimevet

type rule struct {
	name  string
	mpi   bool // whether the rule applies only to runtimes with mlPolicy.mpi
	check func(*pass)
	doc   string
}

// The function checkTypes applies these two rules. All other rules are applied after checkTypes.
var (
	wrongType = rule{name: "wrong-type",
		doc: "A value has a different type than the field, so the API server refuses the runtime"}
	unknownField = rule{name: "unknown-field",
		doc: "Trainer 2.3 has no field with this name, so the setting has no effect"}
)

// trapRules lists the rules about all traps, grouped by subject. A trap is a mistake in a runtime. The cluster usually
// accepts the runtime despite the mistake.
var trapRules = []rule{
	wrongType,
	unknownField,

	{"many-launchers", true, manyLaunchers,
		"With MPI, mlPolicy.numNodes is the number of launchers, and every launcher runs mpirun"},
	{"unsupported-mpi", true, unsupportedMPI,
		"Trainer writes host files for Open MPI only"},
	{"root-ssh-keys", true, rootSSHKeys,
		"If root runs SSH, SSH refuses key files with the modes that Trainer sets, and the default path of the keys is in the home folder of root"},
	{"launcher-not-a-node", true, launcherNotANode,
		"Without runLauncherAsNode, the environment and resources of a TrainJob reach only the launcher"},
	{"process-count-ignored", true, processCountIgnored,
		"On nodes with several GPUs, Trainer replaces numProcPerNode 1 with the number of GPUs"},

	{"missing-launcher", true, missingLauncher,
		"No ReplicatedJob is called launcher, so no pod gets the host file"},
	{"missing-node", true, missingNode,
		"No ReplicatedJob is called node, so the launcher is the only host"},
	{"wrong-container-name", true, wrongContainerName,
		"In the pods of the launcher and of the nodes, Trainer mounts SSH keys and the host file only into a container called node"},
	{"wrong-ancestor-label", true, wrongAncestorLabel,
		"The launcher must have the label trainjob-ancestor-step: trainer, and the nodes must not, because all pods with this label run the command of the TrainJob"},
	{"wrong-replica-count", true, wrongReplicaCount,
		"The ReplicatedJobs launcher and node must have one replica each: the cluster refuses any other number of launchers, and the host file lists only the first replica of the ReplicatedJob node"},
	{"wrong-success-policy", true, wrongSuccessPolicy,
		"The nodes run sshd, which never ends, so a TrainJob that waits for the nodes never completes"},
	{"impossible-dependency", false, impossibleDependency,
		"A ReplicatedJob waits for a ReplicatedJob that starts later, does not exist, or never completes"},
	{"rerun-after-ttl", true, rerunAfterTTL,
		"A failed TrainJob runs again when its JobSet is deleted after ttlSecondsAfterFinished"},

	{"gang-deadlock", false, gangDeadlock,
		"The gang scheduler waits for all pods, and some of these pods wait for others to start"},
	{"missing-scheduler-name", false, missingSchedulerName,
		"podGroupPolicy creates a PodGroup, but without schedulerName, the default scheduler gets the pods and ignores the PodGroup"},
	{"two-gang-schedulers", false, twoGangSchedulers,
		"coscheduling and volcano both create a PodGroup, and a pod has only one scheduler"},

	{"reserved-volume", true, reservedVolume,
		"Trainer silently replaces volumes and mounts that use its own names or paths"},
	{"reserved-variable", true, reservedVariable,
		"Trainer replaces the value of an environment variable in a runtime if Trainer sets that variable itself"},
	{"broken-host-names", true, brokenHostNames,
		"The network settings of the JobSet remove the DNS names that the host file contains"},
	{"inherited-launcher-args", true, inheritedLauncherArgs,
		"A TrainJob that sets only a command inherits the args of the launcher"},
	{"open-mpi-5-hostfile", true, openMPI5Hostfile,
		"Open MPI 5 does not find the host file, so all ranks run on the launcher, and the TrainJob still completes"},
	{"shared-core", true, coreBinding,
		"MPI binds the first rank of each pod to the same core of the cluster node"},

	{"invalid-name", false, invalidName,
		"The API server refuses a runtime without a name, or with a name that is not a DNS subdomain"},
	{"invalid-resource-name", false, invalidResourceName,
		"Either Kubernetes refuses pods that request a resource with this name, or no cluster node has a resource with this name"},
	{"unknown-device-limit", false, unknownDeviceLimit,
		"The Kubeflow SDK does not know the device of the trainer's container, so it cannot list any runtime"},
	{"missing-framework-label", false, missingFrameworkLabel,
		"The Kubeflow SDK ignores runtimes without the label trainer.kubeflow.org/framework"},
}
