package runtimevet

import "testing"

const gang = "  podGroupPolicy: {coscheduling: {}}\n  template:\n    spec:\n      network"

// TestVetPassesSimilarRuntimes checks that Vet reports nothing for valid runtimes that are similar to runtimes with a
// trap. A trap is a mistake that the cluster usually accepts.
func TestVetPassesSimilarRuntimes(t *testing.T) {
	const (
		jobSet   = "  template:\n    spec:\n      network"
		firstJob = "      - name: launcher\n"
		nodeJob  = "      - name: node\n        replicas"
		hostfile = "PRTE_MCA_prte_default_hostfile"
		sshd     = "command: [sshd, -De]"
		limits   = "limits: {cpu: 2, memory: 4Gi}"
		torchGPU = `limits: {nvidia.com/gpu: "8"}`
	)
	cases := map[string]edited{
		"the first job that completes is enough":                 {edits: []string{"operator: All\n        targetReplicatedJobs: [launcher]", "operator: Any"}},
		"any of the node and the launcher is enough":             {edits: []string{"operator: All", "operator: Any", "[launcher]", "[node, launcher]"}},
		"another job has to complete as well":                    {edits: []string{"[launcher]", "[launcher, data]"}},
		"the first job has empty dependencies":                   {edits: []string{firstJob, firstJob + "        dependsOn: []\n"}},
		"a job waits for an earlier one":                         {edits: []string{nodeJob, "      - name: node\n        dependsOn: [{name: launcher, status: Ready}]\n        replicas"}},
		"jobs wait, and the gang policy is empty":                {edits: []string{jobSet, "  podGroupPolicy: {volcano: ~}\n" + jobSet, nodeJob, "      - name: node\n        dependsOn: [{name: launcher, status: Ready}]\n        replicas"}},
		"a gang starts in any order":                             {edits: []string{jobSet, gang, "schedulerName: gangs\n                containers:\n                - name: node\n                  image: quay.io/acme/node", "schedulerName: others\n                containers:\n                - name: node\n                  image: quay.io/acme/node"}},
		"jobs start in order without a gang":                     {edits: []string{jobSet, "  template:\n    spec:\n      startupPolicy: {startupPolicyOrder: InOrder}\n      network"}},
		"an initializer in addition":                             {edits: []string{nodeJob, "      - name: data\n        template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}}\n" + nodeJob}},
		"a job that Trainer ignores in addition":                 {edits: []string{nodeJob, "      - name: monitor\n        template: {}\n" + nodeJob}},
		"the node has the label of another step":                 {edits: []string{"          spec:\n            parallelism", "          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: model-initializer}}\n          spec:\n            parallelism"}},
		"a sidecar before the main container":                    {edits: []string{"                - name: node\n                  image: quay.io/acme/node", "                - name: log\n                - name: node\n                  image: quay.io/acme/node"}},
		"two replicas of another job":                            {edits: []string{nodeJob, "      - name: monitor\n        replicas: 2\n        template: {}\n" + nodeJob}},
		"a path that begins like root's home":                    {edits: []string{"/home/mpiuser/.ssh", "/rootless/.ssh"}},
		"one process on a node with one GPU":                     {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, nvidia.com/gpu: 1}"}},
		"one process on a node with MIG slices":                  {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, nvidia.com/mig-1g.5gb: 4}"}},
		"two processes on a node with GPUs":                      {edits: []string{limits, "limits: {cpu: 2, nvidia.com/gpu: 4}"}},
		"one process, and GPUs that Trainer does not count":      {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", "resources: {limits: {memory: 4Gi}}", "resources: {limits: {nvidia.com/gpu: 4}}"}},
		"one process, and requests precede limits":               {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, acme.com/gpu: 4}\n                    requests: {nvidia.com/gpu: 1}"}},
		"one process, and a number of GPUs that is too large":    {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, nvidia.com/gpu: 99999999999}"}},
		"the node's volume has the name of the host file volume": {edits: []string{sshd, sshd + "\n                volumes: [{name: mpi-hostfile, emptyDir: {}}]", "                  resources: {limits: {memory: 4Gi}}\n", ""}},
		"the node mounts at a path reserved in the launcher":     {edits: []string{sshd, sshd + "\n                  volumeMounts: [{name: a, mountPath: /etc/mpi}]"}},
		"a sidecar mounts at a path of Trainer":                  {edits: []string{sshd, sshd + "\n                - name: b\n                  volumeMounts: [{name: a, mountPath: /home/mpiuser/.ssh}]"}},
		"the node has a reserved variable":                       {edits: []string{sshd, sshd + "\n                  env: [{name: OMPI_MCA_plm_rsh_args}]"}},
		"DNS names for all pods, as a YAML 1.1 boolean":          {edits: []string{"publishNotReadyAddresses: true", "publishNotReadyAddresses: yes"}},
		"the subdomain is empty":                                 {edits: []string{"enableDNSHostnames: true", "subdomain: ''"}},
		"args of the launcher are empty":                         {edits: []string{"command: [mpirun, hostname]", "command: [mpirun, hostname]\n                  args: []"}},
		"the node has args":                                      {edits: []string{sshd, "command: [sshd]\n                  args: [-De]"}},
		"the launcher sets the host file of Hydra":               {edits: []string{hostfile, "HYDRA_HOST_FILE"}},
		"the launcher sets the host file of Intel MPI":           {edits: []string{hostfile, "I_MPI_HYDRA_HOST_FILE"}},
		"the command names a host file":                          {edits: []string{hostfile, "A", "[mpirun, hostname]", "[sh, -c, 'mpirun --hostfile /etc/mpi/hostfile hostname']"}},
		"the command names a machine file":                       {edits: []string{hostfile, "A", "[mpirun, hostname]", "[mpirun, -machinefile, /etc/mpi/hostfile]"}},
		"the TTL of the JobSet is null":                          {edits: []string{jobSet, "  template:\n    spec:\n      ttlSecondsAfterFinished: ~\n      network"}},
		"limits of a MIG slice":                                  {base: plainGood, edits: []string{torchGPU, "limits: {nvidia.com/mig-1g.5gb: 1}"}},
		"limits of a TPU":                                        {base: plainGood, edits: []string{torchGPU, "limits: {google.com/tpu: 4}"}},
		"limits of an NPU":                                       {base: plainGood, edits: []string{torchGPU, "limits: {huawei.com/Ascend910: 4}"}},
		"limits of CPU":                                          {base: plainGood, edits: []string{torchGPU, "limits: {cpu: 500m}"}},
		"limits of a GPU in addition to MIG slices":              {base: plainGood, edits: []string{torchGPU, "limits: {nvidia.com/mig-1g.5gb: 1, nvidia.com/mig-2g.10gb: 1, nvidia.com/gpu: 1}"}},
		"no limits":                                     {base: plainGood, edits: []string{torchGPU, "limits: ~"}},
		"limits of an initializer":                      {base: plainGood, edits: []string{"image: quay.io/acme/data}", "image: quay.io/acme/data, resources: {limits: {memory: 1Gi}}}"}},
		"an MPI policy that is null":                    {base: plainGood, edits: []string{"torch: {}", "mpi: ~"}},
		"a job without MPI waits for a job called node": {base: plainGood, edits: []string{"      - name: dataset-initializer\n", "      - name: node\n", "      - name: node\n        dependsOn: [{name: dataset-initializer", "      - name: later\n        dependsOn: [{name: node"}},
		"a launcher waits for nodes that are ready": {edits: []string{
			firstJob, "      - name: node\n        template: {spec: {template: {spec: {containers: [{name: node}]}}}}\n      - name: launcher\n        dependsOn: [{name: node, status: Ready}]\n",
			nodeJob + ": 1\n", "      - name: other\n",
		}},
		"many nodes without MPI": {base: plainGood, edits: []string{"numNodes: 4", "numNodes: 64"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report, err := Vet("good.yaml", []byte(tc.applyEdits(t)))
			if err != nil || report.Runtimes != 1 {
				t.Fatalf("Vet() finds %d runtimes, %v", report.Runtimes, err)
			}
			for _, p := range append(report.Problems, report.Notes...) {
				t.Error(p)
			}
		})
	}
}
