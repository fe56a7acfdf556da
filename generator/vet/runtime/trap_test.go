package runtimevet

import "maps"

func allTraps() map[string]edited {
	all := map[string]edited{}
	for _, cases := range []map[string]edited{policyTraps, jobTraps, schedulingTraps, podTraps, typeTraps} {
		maps.Copy(all, cases)
	}
	return all
}

const (
	launcherPath  = "spec.template.spec.replicatedJobs.launcher"
	nodePath      = "spec.template.spec.replicatedJobs.node"
	launcherPod   = launcherPath + ".template.spec.template.spec"
	nodePod       = nodePath + ".template.spec.template.spec"
	launcherLabel = launcherPath + `.template.metadata.labels."trainer.kubeflow.org/trainjob-ancestor-step"`
	nodeLabel     = nodePath + `.template.metadata.labels."trainer.kubeflow.org/trainjob-ancestor-step"`
)

var policyTraps = map[string]edited{
	"four nodes by default":            {edits: []string{"numNodes: 1", "numNodes: »4"}, want: []string{"many-launchers at spec.mlPolicy.numNodes"}},
	"a number of nodes written as 2.0": {edits: []string{"numNodes: 1", "numNodes: »2.0"}, want: []string{"many-launchers at spec.mlPolicy.numNodes"}},
	"an empty MPI implementation": {says: "admits",
		edits: []string{"mpiImplementation: OpenMPI", `mpiImplementation: »""`}, want: []string{"unsupported-mpi at spec.mlPolicy.mpi.mpiImplementation"},
	},
	"another MPI implementation": {says: "refuses",
		edits: []string{"mpiImplementation: OpenMPI", "mpiImplementation: »Intel"}, want: []string{"unsupported-mpi at spec.mlPolicy.mpi.mpiImplementation"},
	},
	"SSH keys at the default path": {
		edits: []string{"    mpi:\n", "    »mpi:\n", "      sshAuthMountPath: /home/mpiuser/.ssh\n", ""}, want: []string{"root-ssh-keys at spec.mlPolicy.mpi.sshAuthMountPath"},
	},
	"SSH keys at a path that is null": {
		edits: []string{"sshAuthMountPath: /home/mpiuser/.ssh", "»sshAuthMountPath: ~"}, want: []string{"root-ssh-keys at spec.mlPolicy.mpi.sshAuthMountPath"},
	},
	"SSH keys in root's home": {
		edits: []string{"sshAuthMountPath: /home/mpiuser/.ssh", "sshAuthMountPath: »/root/keys/"}, want: []string{"root-ssh-keys at spec.mlPolicy.mpi.sshAuthMountPath"},
	},
	"SSH keys at a path with control characters": {
		edits: []string{"sshAuthMountPath: /home/mpiuser/.ssh", `sshAuthMountPath: »"/root/\e[2J\n"`}, want: []string{"root-ssh-keys at spec.mlPolicy.mpi.sshAuthMountPath"},
	},
	"SSH keys in root's home, by a path with ..": {
		edits: []string{"sshAuthMountPath: /home/mpiuser/.ssh", "sshAuthMountPath: »/home/../root"}, want: []string{"root-ssh-keys at spec.mlPolicy.mpi.sshAuthMountPath"},
	},
	"a launcher that is not a node": {
		edits: []string{"runLauncherAsNode: true", "runLauncherAsNode: »false"}, want: []string{"launcher-not-a-node at spec.mlPolicy.mpi.runLauncherAsNode"}, note: true,
	},
	"a launcher that is not a node, by default": {
		edits: []string{"    mpi:\n", "    »mpi:\n", "      runLauncherAsNode: true\n", ""}, want: []string{"launcher-not-a-node at spec.mlPolicy.mpi.runLauncherAsNode"}, note: true,
	},
	"a container that runs as root": {
		edits: []string{"command: [mpirun, hostname]", "securityContext: {runAsUser: »0}\n                  command: [mpirun, hostname]"},
		want:  []string{"root-ssh-keys at " + launcherPod + ".containers.node.securityContext.runAsUser"},
	},
	"a pod that runs as root": {
		edits: []string{"schedulerName: gangs\n                containers:\n                - name: node\n                  image: quay.io/acme/node", "schedulerName: gangs\n                securityContext: {runAsUser: »0}\n                containers:\n                - name: node\n                  image: quay.io/acme/node"},
		want:  []string{"root-ssh-keys at " + nodePod + ".securityContext.runAsUser"},
	},
	"nodes that wait for mpirun to end": {
		edits: []string{"      - name: node\n        replicas", "      - name: node\n        dependsOn: [{name: launcher, status: »Complete}]\n        replicas"},
		want:  []string{"impossible-dependency at " + nodePath + ".dependsOn.launcher.status"},
	},
	"one process on a node with GPUs": {
		edits: []string{"numProcPerNode: 2", "numProcPerNode: »1", "limits: {cpu: 2,", `limits: {cpu: 2, nvidia.com/gpu: "4",`},
		want:  []string{"process-count-ignored at spec.mlPolicy.mpi.numProcPerNode"}, note: true,
	},
	"the default number of processes, with GPUs only in requests": {
		edits: []string{
			"    mpi:\n", "    »mpi:\n", "      numProcPerNode: 2\n", "",
			"limits: {cpu: 2, memory: 4Gi}", "limits: {cpu: 2}\n                    requests: {acme.example/GPU: 2}",
		},
		want: []string{"process-count-ignored at spec.mlPolicy.mpi.numProcPerNode"}, note: true,
	},
	"two framework labels that the SDK does not read": {
		edits: []string{"  labels: {trainer.kubeflow.org/framework: mpi}", "  »labels: {framework: mpi, trainer.kubeflow.org/Framework: mpi}"},
		want:  []string{`missing-framework-label at metadata.labels."trainer.kubeflow.org/framework"`}, note: true,
	},
	"a runtime without MPI or labels": {
		base: plainGood, edits: []string{"metadata: {name: torch, labels: {trainer.kubeflow.org/framework: torch}}", "»metadata: {name: torch}"},
		want: []string{`missing-framework-label at metadata.labels."trainer.kubeflow.org/framework"`}, note: true,
	},
}

var jobTraps = map[string]edited{
	"a launcher with another name": {
		edits: []string{"- name: launcher", "- name: »mpirun", "targetReplicatedJobs: [launcher]", "targetReplicatedJobs: [mpirun]"},
		want:  []string{"missing-launcher at spec.template.spec.replicatedJobs.mpirun.name"},
	},
	"neither launcher nor node": {
		edits: []string{"- name: launcher", "- name: »mpirun", "targetReplicatedJobs: [launcher]", "targetReplicatedJobs: [mpirun]", "      - name: node\n        replicas", "      - name: worker\n        replicas"},
		want:  []string{"missing-launcher at spec.template.spec.replicatedJobs.mpirun.name"},
	},
	"no launcher": {
		base:  plainGood,
		edits: []string{"torch: {}", "mpi: {sshAuthMountPath: /keys}", "      replicatedJobs:", "      »replicatedJobs:", "step: trainer}", "step: other}", ", resources: {limits: {nvidia.com/gpu: \"8\"}}", "", "      ttlSecondsAfterFinished: 60\n", "", "Complete", "Ready"},
		want:  []string{"missing-launcher at spec.template.spec.replicatedJobs"},
	},
	"nodes called workers": {
		edits: []string{"      - name: node\n        replicas", "      - name: »worker\n        replicas"},
		want:  []string{"missing-node at spec.template.spec.replicatedJobs.worker.name"},
	},
	"a launcher and an initializer only": {
		edits: []string{
			"      replicatedJobs:", "      »replicatedJobs:",
			"      - name: node\n        replicas: 1\n        template:\n", "      - name: data\n        template:\n          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}\n",
		},
		want: []string{"missing-node at spec.template.spec.replicatedJobs"}, note: true,
	},
	"a launcher's container with another name": {
		edits: []string{"- name: node\n                  image: quay.io/acme/launcher", "- name: »launcher\n                  image: quay.io/acme/launcher"},
		want:  []string{"wrong-container-name at " + launcherPod + ".containers.launcher.name"},
	},
	"two containers with other names": {
		edits: []string{"                containers:\n                - name: node\n                  image: quay.io/acme/node", "                »containers:\n                - name: a\n                - name: b\n                  image: quay.io/acme/node"},
		want:  []string{"wrong-container-name at " + nodePod + ".containers"},
	},
	"a launcher without label": {
		edits: []string{"            labels:\n              trainer.kubeflow.org/trainjob-ancestor-step: trainer\n", "            »labels: {}\n"},
		want:  []string{"wrong-ancestor-label at " + launcherLabel},
	},
	"a launcher with another label": {
		edits: []string{"ancestor-step: trainer\n", "ancestor-step: »launcher\n"}, want: []string{"wrong-ancestor-label at " + launcherLabel},
	},
	"nodes with the launcher's label": {
		edits: []string{"          spec:\n            parallelism: 1", "          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: »trainer}}\n          spec:\n            parallelism: 1"},
		want:  []string{"wrong-ancestor-label at " + nodeLabel},
	},
	"two replicas of the launcher": {
		edits: []string{"launcher\n        replicas: 1", "launcher\n        replicas: »2"}, want: []string{"wrong-replica-count at " + launcherPath + ".replicas"},
	},
	"no replica of the launcher": {
		edits: []string{"launcher\n        replicas: 1", "launcher\n        replicas: »0"}, want: []string{"wrong-replica-count at " + launcherPath + ".replicas"},
	},
	"three replicas of the node": {
		edits: []string{"node\n        replicas: 1", "node\n        replicas: »3"}, want: []string{"wrong-replica-count at " + nodePath + ".replicas"},
	},
	"no success policy": {says: "for every ReplicatedJob",
		edits: []string{"    spec:\n      network", "    »spec:\n      network", "      successPolicy:\n        operator: All\n        targetReplicatedJobs: [launcher]\n", ""},
		want:  []string{"wrong-success-policy at spec.template.spec.successPolicy.targetReplicatedJobs"},
	},
	"a success policy without targets": {says: "for every ReplicatedJob",
		edits: []string{"      successPolicy:", "      »successPolicy:", "        targetReplicatedJobs: [launcher]\n", ""},
		want:  []string{"wrong-success-policy at spec.template.spec.successPolicy.targetReplicatedJobs"},
	},
	"a success policy that waits for sshd": {says: "remove the ReplicatedJob node",
		edits: []string{"[launcher]", "[launcher, »node]"}, want: []string{"wrong-success-policy at spec.template.spec.successPolicy.targetReplicatedJobs.1"},
	},
	"a success policy that waits for any of the nodes": {
		edits: []string{"operator: All\n        targetReplicatedJobs: [launcher]", "operator: Any\n        »targetReplicatedJobs: [node]"},
		want:  []string{"wrong-success-policy at spec.template.spec.successPolicy.targetReplicatedJobs"},
	},
	"a success policy that waits for another job": {says: "for mpirun",
		edits: []string{"        targetReplicatedJobs: [launcher]", "        »targetReplicatedJobs: [node]"},
		want:  []string{"wrong-success-policy at spec.template.spec.successPolicy.targetReplicatedJobs"},
	},
	"a success policy that an initializer fulfills": {says: "when data has completed",
		edits: []string{
			"      successPolicy:\n        operator: All\n        targetReplicatedJobs: [launcher]\n", "      »successPolicy:\n        operator: Any\n",
			"      - name: node\n        replicas: 1\n        template:\n",
			"      - name: data\n        template:\n          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}\n" +
				"      - name: node\n        replicas: 1\n        template:\n",
		},
		want: []string{"wrong-success-policy at spec.template.spec.successPolicy"},
	},
	"a first job that waits": {says: "first ReplicatedJob",
		edits: []string{"      - name: launcher\n", "      - name: launcher\n        »dependsOn: [{name: node, status: Ready}, {name: x, status: Ready}]\n"},
		want:  []string{"impossible-dependency at " + launcherPath + ".dependsOn"},
	},
	"a job that waits for itself": {
		edits: []string{"      - name: node\n        replicas", "      - name: node\n        dependsOn: [{name: »node, status: Ready}]\n        replicas"},
		want:  []string{"impossible-dependency at " + nodePath + ".dependsOn.node.name"},
	},
	"a job without MPI that waits for a missing job": {
		base: plainGood, edits: []string{"[{name: dataset-initializer, status", "[{name: »datasets, status"},
		want: []string{"impossible-dependency at " + nodePath + ".dependsOn.datasets.name"},
	},
	"a job that waits for sshd to end": {says: "write Ready",
		edits: []string{
			"      - name: launcher\n", "      - name: node\n        template: {spec: {template: {spec: {containers: [{name: node}]}}}}\n      - name: launcher\n        dependsOn: [{name: node, status: »Complete}]\n",
			"      - name: node\n        replicas: 1\n        template:\n", "      - name: other\n        template:\n",
		},
		want: []string{"impossible-dependency at " + launcherPath + ".dependsOn.node.status"},
	},
	"a JobSet with a TTL": {
		edits: []string{"    spec:\n      network", "    spec:\n      ttlSecondsAfterFinished: »0\n      network"},
		want:  []string{"rerun-after-ttl at spec.template.spec.ttlSecondsAfterFinished"}, note: true,
	},
}

var schedulingTraps = map[string]edited{
	"a gang that waits for a job": {
		edits: []string{"  template:\n    spec:\n      network", "  podGroupPolicy: {coscheduling: {}}\n  template:\n    spec:\n      network", "      - name: node\n        replicas", "      - name: node\n        »dependsOn: [{name: launcher, status: Ready}]\n        replicas"},
		want:  []string{"gang-deadlock at " + nodePath + ".dependsOn"},
	},
	"a gang that starts in order": {
		edits: []string{"  template:\n    spec:\n      network", "  podGroupPolicy: {volcano: {}}\n  template:\n    spec:\n      startupPolicy: {startupPolicyOrder: »InOrder}\n      network"},
		want:  []string{"gang-deadlock at spec.template.spec.startupPolicy.startupPolicyOrder"},
	},
	"a gang without MPI": {
		base: plainGood, edits: []string{"  template:\n    spec:\n", "  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 9}}\n  template:\n    spec:\n", "        dependsOn", "        »dependsOn", "spec: {containers: [{name: dataset", "»spec: {containers: [{name: dataset", "spec: {containers: [{name: node", "»spec: {containers: [{name: node"},
		want: []string{
			"missing-scheduler-name at spec.template.spec.replicatedJobs.dataset-initializer.template.spec.template.spec.schedulerName",
			"gang-deadlock at " + nodePath + ".dependsOn", "missing-scheduler-name at " + nodePod + ".schedulerName",
		},
	},
	"a gang with one pod for the default scheduler": {
		edits: []string{"  template:\n    spec:\n      network", "  podGroupPolicy: {volcano: {}}\n  template:\n    spec:\n      network", "schedulerName: gangs\n                containers:\n                - name: node\n                  image: quay.io/acme/node", "schedulerName: »''\n                containers:\n                - name: node\n                  image: quay.io/acme/node"},
		want:  []string{"missing-scheduler-name at " + nodePod + ".schedulerName"},
	},
	"two gangs without MPI": {
		base: plainGood,
		edits: []string{
			"  template:\n    spec:\n", "  podGroupPolicy: {coscheduling: {}, »volcano: {}}\n  template:\n    spec:\n",
			"        dependsOn: [{name: dataset-initializer, status: Complete}]\n", "",
			"{containers: [{name: dataset", "{schedulerName: gangs, containers: [{name: dataset", "{containers: [{name: node", "{schedulerName: gangs, containers: [{name: node",
		},
		want: []string{"two-gang-schedulers at spec.podGroupPolicy.volcano"},
	},
	"two gangs": {
		edits: []string{"  template:\n    spec:\n      network", "  podGroupPolicy: {volcano: {}, »coscheduling: {}}\n  template:\n    spec:\n      network"},
		want:  []string{"two-gang-schedulers at spec.podGroupPolicy.coscheduling"},
	},
}

var podTraps = map[string]edited{
	"a volume with the name of the keys' volume": {
		edits: []string{"command: [sshd, -De]", "command: [sshd, -De]\n                volumes: [{name: »mpi-ssh-auth, emptyDir: {}}, {name: mpi-hostfile, emptyDir: {}}]", "                  resources: {limits: {memory: 4Gi}}\n", ""},
		want:  []string{"reserved-volume at " + nodePod + ".volumes.mpi-ssh-auth.name"},
	},
	"a volume with the name of the host file's volume": {
		edits: []string{"volumes: [{name: shm", "volumes: [{name: »mpi-hostfile, emptyDir: {}}, {name: shm"}, want: []string{"reserved-volume at " + launcherPod + ".volumes.mpi-hostfile.name"},
	},
	"mounts at the paths of Trainer": {
		edits: []string{"mountPath: /dev/shm}", "mountPath: /dev/shm}, {name: shm, mountPath: »/home/mpiuser/.ssh}, {name: a, mountPath: »/etc/mpi/}"},
		want: []string{
			"reserved-volume at " + launcherPod + ".containers.node.volumeMounts.shm.mountPath", "reserved-volume at " + launcherPod + ".containers.node.volumeMounts.a.mountPath",
		},
	},
	"a mount at the default path of the keys": {
		edits: []string{"    mpi:\n", "    »mpi:\n", "      sshAuthMountPath: /home/mpiuser/.ssh\n", "", "mountPath: /dev/shm}", "mountPath: »/root/.ssh}"},
		want:  []string{"root-ssh-keys at spec.mlPolicy.mpi.sshAuthMountPath", "reserved-volume at " + launcherPod + ".containers.node.volumeMounts.shm.mountPath"},
	},
	"variables that Trainer sets": {
		edits: []string{`- {name: OMPI_MCA_orte_set_default_slots, value: "2"}`, "- name: »OMPI_MCA_plm_rsh_args\n                  - name: »OMPI_MCA_orte_default_hostfile\n                  - name: »OMPI_MCA_orte_keep_fqdn_hostnames"},
		want: []string{
			"reserved-variable at " + launcherPod + ".containers.node.env.OMPI_MCA_plm_rsh_args.name",
			"reserved-variable at " + launcherPod + ".containers.node.env.OMPI_MCA_orte_default_hostfile.name",
			"reserved-variable at " + launcherPod + ".containers.node.env.OMPI_MCA_orte_keep_fqdn_hostnames.name",
		},
	},
	"a network without DNS names": {
		edits: []string{"enableDNSHostnames: true", "enableDNSHostnames: »false"}, want: []string{"broken-host-names at spec.template.spec.network.enableDNSHostnames"},
	},
	"DNS names for ready pods only, as a YAML 1.1 boolean": {
		edits: []string{"publishNotReadyAddresses: true", "publishNotReadyAddresses: »no"}, want: []string{"broken-host-names at spec.template.spec.network.publishNotReadyAddresses"},
	},
	"a fixed subdomain": {
		edits: []string{"enableDNSHostnames: true", "subdomain: »mpi"}, want: []string{"broken-host-names at spec.template.spec.network.subdomain"},
	},
	"limits without a device": {
		edits: []string{"limits: {cpu: 2, memory: 4Gi}", "»limits: {memory: 4Gi, amd.com/gpu: 1}"}, want: []string{"unknown-device-limit at " + launcherPod + ".containers.node.resources.limits"},
	},
	"a name with an underscore": {
		edits: []string{"  name: mpi\n", "  name: »a_b\n"}, want: []string{"invalid-name at metadata.name"},
	},
	"no name": {says: "requires a name",
		edits: []string{"metadata:\n  name: mpi\n", "»metadata:\n"}, want: []string{"invalid-name at metadata.name"},
	},
	"limits with a misspelled device": {says: `did you mean "nvidia.com/gpu"?`,
		edits: []string{"limits: {cpu: 2, memory: 4Gi}", "limits: {memory: 4Gi, »nvidia.com/gpus: 1}"}, want: []string{"invalid-resource-name at " + launcherPod + `.containers.node.resources.limits."nvidia.com/gpus"`},
	},
	"limits with an invalid name": {says: `did you mean "nvidia.com/gpu"?`,
		edits: []string{"limits: {cpu: 2, memory: 4Gi}", "limits: {memory: 4Gi, »gpu: 1}"}, want: []string{"invalid-resource-name at " + launcherPod + ".containers.node.resources.limits.gpu"},
	},
	"requests of a node with the prefix of a quota": {says: "names in a ResourceQuota",
		edits: []string{"resources: {limits: {memory: 4Gi}}", "resources: {requests: {»requests.nvidia.com/gpu: 4}}"}, want: []string{"invalid-resource-name at " + nodePod + `.containers.node.resources.requests."requests.nvidia.com/gpu"`},
	},
	"an init container with an invalid name": {base: plainGood,
		edits: []string{"spec: {containers: [{name: dataset-initializer,", "spec: {initContainers: [{name: a, resources: {limits: {»memorry: 1Gi}}}], containers: [{name: dataset-initializer,"}, want: []string{"invalid-resource-name at spec.template.spec.replicatedJobs.dataset-initializer.template.spec.template.spec.initContainers.a.resources.limits.memorry"},
	},
	"empty limits": {
		base: plainGood, edits: []string{`limits: {nvidia.com/gpu: "8"}`, "»limits: {}"}, want: []string{"unknown-device-limit at " + nodePod + ".containers.node.resources.limits"},
	},
	"limits with two devices": {says: "one kind of MIG",
		base: plainGood, edits: []string{`limits: {nvidia.com/gpu: "8"}`, "»limits: {nvidia.com/mig-1g.5gb: 1, nvidia.com/mig-2g.10gb: 1, cpu: 1}"}, want: []string{"unknown-device-limit at " + nodePod + ".containers.node.resources.limits"},
	},
	"a launcher with args": {
		edits: []string{"command: [mpirun, hostname]", "command: [mpirun]\n                  »args: [hostname]"}, want: []string{"inherited-launcher-args at " + launcherPod + ".containers.node.args"}, note: true,
	},
	"a launcher that does not set the host file of Open MPI 5": {
		edits: []string{"                  env:", "                  »env:", "PRTE_MCA_prte_default_hostfile", "PRTE_MCA_hostfile"}, want: []string{"open-mpi-5-hostfile at " + launcherPod + ".containers.node.env"}, note: true,
	},
	"a launcher that lets Open MPI bind ranks to cores": {
		edits: []string{"                  env:", "                  »env:", "PRTE_MCA_hwloc_default_binding_policy", "PRTE_MCA_other"}, want: []string{"shared-core at " + launcherPod + ".containers.node.env"}, note: true,
	},
}

var typeTraps = map[string]edited{
	"a number as a word":           {edits: []string{"numNodes: 1", "numNodes: »two"}, want: []string{"wrong-type at spec.mlPolicy.numNodes"}},
	"a number in quotes":           {edits: []string{"numNodes: 1", `numNodes: »"4"`}, want: []string{"wrong-type at spec.mlPolicy.numNodes"}},
	"a number that is too large":   {edits: []string{"numNodes: 1", "numNodes: »5000000000"}, want: []string{"wrong-type at spec.mlPolicy.numNodes"}},
	"half a node":                  {edits: []string{"numNodes: 1", "numNodes: »1.5"}, want: []string{"wrong-type at spec.mlPolicy.numNodes"}},
	"a YAML 1.1 boolean in quotes": {edits: []string{"runLauncherAsNode: true", `runLauncherAsNode: »"yes"`}, want: []string{"wrong-type at spec.mlPolicy.mpi.runLauncherAsNode"}},
	"a boolean in quotes":          {edits: []string{"runLauncherAsNode: true", `runLauncherAsNode: »"true"`}, want: []string{"wrong-type at spec.mlPolicy.mpi.runLauncherAsNode"}},
	"a number for a text":          {edits: []string{`value: "2"`, "value: »2"}, want: []string{"wrong-type at " + launcherPod + ".containers.node.env.OMPI_MCA_orte_set_default_slots.value"}},
	"a text for a list":            {edits: []string{"                  command: [sshd, -De]", "                  command: »sshd"}, want: []string{"wrong-type at " + nodePod + ".containers.node.command"}},
	"a mapping for a list, which other rules ignore": {
		edits: []string{"                - name: node\n                  image: quay.io/acme/launcher", "                    name: node\n                    image: quay.io/acme/launcher",
			"                containers:\n                    name", "                »containers:\n                    name",
			"                  command: [mpirun", "                    command: [mpirun", "                  env:", "                    env:",
			"                  - {name: OMPI", "                    - {name: OMPI", "                  - {name: PRTE_MCA_prte", "                    - {name: PRTE_MCA_prte", "                  - {name: PRTE_MCA_hwloc", "                    - {name: PRTE_MCA_hwloc",
			"                  resources:\n                    limits: {cpu", "                    resources:\n                        limits: {cpu",
			"                  volumeMounts", "                    volumeMounts"},
		want: []string{"wrong-type at " + launcherPod + ".containers"},
	},
	"a list for a mapping":            {edits: []string{"network: {publishNotReadyAddresses: true, enableDNSHostnames: true}", "»network: [a]"}, want: []string{"wrong-type at spec.template.spec.network"}},
	"a text for a mapping":            {edits: []string{"    mpi:\n", "    mpi: »openmpi\n    torch:\n", "      numProcPerNode: 2\n      mpiImplementation: OpenMPI\n      sshAuthMountPath: /home/mpiuser/.ssh\n      runLauncherAsNode: true\n", ""}, want: []string{"wrong-type at spec.mlPolicy.mpi"}},
	"an invalid quantity":             {edits: []string{"limits: {cpu: 2, memory: 4Gi}", "limits: {cpu: 2, memory: »4 GB}"}, want: []string{"wrong-type at " + launcherPod + ".containers.node.resources.limits.memory"}},
	"a quantity with a huge exponent": {edits: []string{"limits: {cpu: 2, memory: 4Gi}", "limits: {cpu: 2, memory: »1e-999999999m}"}, want: []string{"wrong-type at " + launcherPod + ".containers.node.resources.limits.memory"}},
	"a tiny quantity":                 {edits: []string{"limits: {cpu: 2, memory: 4Gi}", `limits: {cpu: 2, memory: »"1e-999999999"}`}, want: []string{"wrong-type at " + launcherPod + ".containers.node.resources.limits.memory"}},
	"an invalid time":                 {edits: []string{"  name: mpi\n", "  name: mpi\n  creationTimestamp: »yesterday\n"}, want: []string{"wrong-type at metadata.creationTimestamp"}},
	"an invalid port":                 {edits: []string{"command: [sshd, -De]", "command: [sshd, -De]\n                  readinessProbe: {tcpSocket: {»port: [2222]}}"}, want: []string{"wrong-type at " + nodePod + ".containers.node.readinessProbe.tcpSocket.port"}},
	"a misspelled field":              {says: "did you mean \"numProcPerNode\"?", edits: []string{"numProcPerNode: 2", "»numProcsPerNode: 2"}, want: []string{"unknown-field at spec.mlPolicy.mpi.numProcsPerNode"}, note: true},
	"a field in another case":         {edits: []string{"command: [sshd, -De]", "command: [sshd, -De]\n                  »workingdir: /"}, want: []string{"unknown-field at " + nodePod + ".containers.node.workingdir"}, note: true},
	"a field without MPI":             {base: plainGood, edits: []string{"torch: {}", "torch: {»numProcPerNode: auto}"}, want: []string{"unknown-field at spec.mlPolicy.torch.numProcPerNode"}, note: true},
	"a field without a similar name":  {says: ": leave it out", edits: []string{"  template:\n    spec:\n      network", "  »suspend: true\n  template:\n    spec:\n      network"}, want: []string{"unknown-field at spec.suspend"}, note: true},
}
