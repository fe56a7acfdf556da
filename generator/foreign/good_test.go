package foreign

import "testing"

const gang = "  podGroupPolicy: {coscheduling: {}}\n  template:\n    spec:\n      network"

// TestWhatOnlyLooksLikeATrapPasses: each shape is near one that is reported.
func TestWhatOnlyLooksLikeATrapPasses(t *testing.T) {
	const (
		jobSet   = "  template:\n    spec:\n      network"
		firstJob = "      - name: launcher\n"
		nodeJob  = "      - name: node\n        replicas"
		hostfile = "PRTE_MCA_prte_default_hostfile"
		sshd     = "command: [sshd, -De]"
		limits   = "limits: {cpu: 2, memory: 4Gi}"
		torchGPU = `limits: {nvidia.com/gpu: "8"}`
	)
	cases := map[string]bad{
		"the first job that completes is enough":      {edits: []string{"operator: All\n        targetReplicatedJobs: [launcher]", "operator: Any"}},
		"sshd may complete first, but does not":       {edits: []string{"operator: All", "operator: Any", "[launcher]", "[node, launcher]"}},
		"another job has to complete as well":         {edits: []string{"[launcher]", "[launcher, data]"}},
		"the first job waits for nobody":              {edits: []string{firstJob, firstJob + "        dependsOn: []\n"}},
		"a job waits for an earlier one":              {edits: []string{nodeJob, "      - name: node\n        dependsOn: [{name: launcher, status: Ready}]\n        replicas"}},
		"jobs wait, and the gang is empty":            {edits: []string{jobSet, "  podGroupPolicy: {volcano: ~}\n" + jobSet, nodeJob, "      - name: node\n        dependsOn: [{name: launcher, status: Ready}]\n        replicas"}},
		"a gang starts in any order":                  {edits: []string{jobSet, gang, "schedulerName: gangs\n                containers:\n                - name: node\n                  image: quay.io/acme/node", "schedulerName: others\n                containers:\n                - name: node\n                  image: quay.io/acme/node"}},
		"jobs start in order without a gang":          {edits: []string{jobSet, "  template:\n    spec:\n      startupPolicy: {startupPolicyOrder: InOrder}\n      network"}},
		"an initializer stands beside them":           {edits: []string{nodeJob, "      - name: data\n        template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}}\n" + nodeJob}},
		"a job that Trainer ignores stands beside":    {edits: []string{nodeJob, "      - name: monitor\n        template: {}\n" + nodeJob}},
		"a step that is not the trainer's":            {edits: []string{"          spec:\n            parallelism", "          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: model-initializer}}\n          spec:\n            parallelism"}},
		"a sidecar stands before the container":       {edits: []string{"                - name: node\n                  image: quay.io/acme/node", "                - name: log\n                - name: node\n                  image: quay.io/acme/node"}},
		"two replicas of another job":                 {edits: []string{nodeJob, "      - name: monitor\n        replicas: 2\n        template: {}\n" + nodeJob}},
		"a home that begins like root's":              {edits: []string{"/home/mpiuser/.ssh", "/rootless/.ssh"}},
		"one process on a node with one GPU":          {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, nvidia.com/gpu: 1}"}},
		"one process on a node with slices":           {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, nvidia.com/mig-1g.5gb: 4}"}},
		"two processes on a node with GPUs":           {edits: []string{limits, "limits: {cpu: 2, nvidia.com/gpu: 4}"}},
		"one process, and GPUs that are not read":     {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", "resources: {limits: {memory: 4Gi}}", "resources: {limits: {nvidia.com/gpu: 4}}"}},
		"one process, and requests come before":       {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, acme.com/gpu: 4}\n                    requests: {nvidia.com/gpu: 1}"}},
		"one process, and a count that is no number":  {edits: []string{"numProcPerNode: 2", "numProcPerNode: 1", limits, "limits: {cpu: 2, nvidia.com/gpu: 99999999999}"}},
		"the node has the host file's volume":         {edits: []string{sshd, sshd + "\n                volumes: [{name: mpi-hostfile, emptyDir: {}}]", "                  resources: {limits: {memory: 4Gi}}\n", ""}},
		"the node mounts where the launcher may not":  {edits: []string{sshd, sshd + "\n                  volumeMounts: [{name: a, mountPath: /etc/mpi}]"}},
		"a sidecar mounts where Trainer does":         {edits: []string{sshd, sshd + "\n                - name: b\n                  volumeMounts: [{name: a, mountPath: /home/mpiuser/.ssh}]"}},
		"the node has a reserved variable":            {edits: []string{sshd, sshd + "\n                  env: [{name: OMPI_MCA_plm_rsh_args}]"}},
		"names are published in words of old YAML":    {edits: []string{"publishNotReadyAddresses: true", "publishNotReadyAddresses: yes"}},
		"the subdomain is empty":                      {edits: []string{"enableDNSHostnames: true", "subdomain: ''"}},
		"args of the launcher are empty":              {edits: []string{"command: [mpirun, hostname]", "command: [mpirun, hostname]\n                  args: []"}},
		"the node has args":                           {edits: []string{sshd, "command: [sshd]\n                  args: [-De]"}},
		"the launcher runs Hydra":                     {edits: []string{hostfile, "HYDRA_HOST_FILE"}},
		"the launcher runs Intel MPI":                 {edits: []string{hostfile, "I_MPI_HYDRA_HOST_FILE"}},
		"the command names a host file":               {edits: []string{hostfile, "A", "[mpirun, hostname]", "[sh, -c, 'mpirun --hostfile /etc/mpi/hostfile hostname']"}},
		"the command names a machine file":            {edits: []string{hostfile, "A", "[mpirun, hostname]", "[mpirun, -machinefile, /etc/mpi/hostfile]"}},
		"the JobSet stays":                            {edits: []string{jobSet, "  template:\n    spec:\n      ttlSecondsAfterFinished: ~\n      network"}},
		"limits of a slice":                           {base: plainGood, edits: []string{torchGPU, "limits: {nvidia.com/mig-1g.5gb: 1}"}},
		"limits of a TPU":                             {base: plainGood, edits: []string{torchGPU, "limits: {google.com/tpu: 4}"}},
		"limits of an NPU":                            {base: plainGood, edits: []string{torchGPU, "limits: {huawei.com/Ascend910: 4}"}},
		"limits of CPU":                               {base: plainGood, edits: []string{torchGPU, "limits: {cpu: 500m}"}},
		"limits of a whole GPU beside slices":         {base: plainGood, edits: []string{torchGPU, "limits: {nvidia.com/mig-1g.5gb: 1, nvidia.com/mig-2g.10gb: 1, nvidia.com/gpu: 1}"}},
		"no limits":                                   {base: plainGood, edits: []string{torchGPU, "limits: ~"}},
		"limits of what is no trainer":                {base: plainGood, edits: []string{"image: quay.io/acme/data}", "image: quay.io/acme/data, resources: {limits: {memory: 1Gi}}}"}},
		"an MPI policy that is null":                  {base: plainGood, edits: []string{"torch: {}", "mpi: ~"}},
		"a job waits for one called node without MPI": {base: plainGood, edits: []string{"      - name: dataset-initializer\n", "      - name: node\n", "      - name: node\n        dependsOn: [{name: dataset-initializer", "      - name: later\n        dependsOn: [{name: node"}},
		"a launcher waits for nodes that are ready": {edits: []string{
			firstJob, "      - name: node\n        template: {spec: {template: {spec: {containers: [{name: node}]}}}}\n      - name: launcher\n        dependsOn: [{name: node, status: Ready}]\n",
			nodeJob + ": 1\n", "      - name: other\n",
		}},
		"nodes without MPI": {base: plainGood, edits: []string{"numNodes: 4", "numNodes: 64"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report, err := Vet("good.yaml", []byte(tc.text(t)))
			if err != nil || report.Runtimes != 1 {
				t.Fatalf("Vet() finds %d runtimes, %v", report.Runtimes, err)
			}
			for _, p := range append(report.Problems, report.Notes...) {
				t.Error(p)
			}
		})
	}
}
