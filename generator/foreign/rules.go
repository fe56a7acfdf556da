package foreign

// rule finds one trap.
type rule struct {
	name  string
	mpi   bool // holds only for runtimes with mlPolicy.mpi
	check func(runtime) []finding
	doc   string // what the trap means
}

// rules is every trap, by subject.
var rules = []rule{
	{wrongType, false, wrongTypes,
		"A value has another type than the field, so the API server refuses the runtime"},
	{"unknown-field", false, unknownFields,
		"Trainer 2.3 has no such field, so what it should do does not happen"},

	{"many-launchers", true, manyLaunchers,
		"mlPolicy.numNodes counts launchers under MPI, and each of them runs mpirun"},
	{"implementation", true, implementation,
		"Trainer makes host files for Open MPI only, whatever mpiImplementation may be called"},
	{"root-ssh", true, rootSSH,
		"SSH keys have modes that root's ssh refuses, and are below /root by default"},
	{"launcher-apart", true, launcherApart,
		"Without runLauncherAsNode, what a TrainJob asks for reaches the launcher and not the nodes"},
	{"one-process", true, oneProcess,
		"numProcPerNode 1 is not kept on nodes with several GPUs: Trainer starts one process for each"},

	{"launcher-missing", true, launcherMissing,
		"No ReplicatedJob is called launcher, so nothing gets the host file"},
	{"node-missing", true, nodeMissing,
		"No ReplicatedJob is called node, so there are no hosts beside the launcher"},
	{"container-name", true, containerName,
		"Trainer mounts keys and host file only into a container called node, in both ReplicatedJobs"},
	{"ancestor-label", true, ancestorLabels,
		"The label trainjob-ancestor-step: trainer belongs to the launcher alone, where a TrainJob's command lands"},
	{"replicas", true, replicas,
		"Launcher and node have one replica each: more of them are refused, or missing from the host file"},
	{"success-policy", true, successPolicy,
		"Only the launcher ends, so a TrainJob that waits for sshd on the nodes as well never completes"},
	{"depends-on", false, dependsOn,
		"A ReplicatedJob waits for one that comes later, does not exist or never completes"},
	{"finished-ttl", true, finishedTTL,
		"A failed TrainJob runs again when its JobSet is deleted after a while"},

	{"gang-deadlock", false, gangDeadlock,
		"A gang scheduler waits for all pods, and some of the pods wait for others to start"},
	{"scheduler-name", false, schedulerName,
		"podGroupPolicy makes a PodGroup, but does not send pods to the scheduler that heeds it"},
	{"two-gangs", false, twoGangs,
		"coscheduling and volcano both make a PodGroup, and pods have only one scheduler"},

	{"own-volume", true, ownVolume,
		"A volume or mount of Trainer's own name or path is replaced without a word"},
	{"reserved-env", true, reservedEnv,
		"Variables that Trainer sets itself lose the value that the runtime gives them"},
	{"job-network", true, jobNetwork,
		"Hosts of the host file are found by names that the JobSet's network settings take away"},
	{"launcher-args", true, launcherArgs,
		"A TrainJob that sets only a command inherits the launcher's args"},
	{"open-mpi-5", true, openMPI5,
		"Open MPI 5 is not told of the host file: all ranks run on the launcher, and the TrainJob completes all the same"},

	{"device-limits", false, deviceLimits,
		"The Kubeflow SDK cannot name the device of the trainer's container, and fails to list any runtime"},
	{"framework-label", false, frameworkLabel,
		"The Kubeflow SDK passes over runtimes without the label trainer.kubeflow.org/framework"},
}
