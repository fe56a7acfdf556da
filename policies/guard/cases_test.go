package guard

import (
	"fmt"
	"strings"
)

type ruleCase struct {
	rule             Rule
	data             map[string]string // the tenant's parameters; defaultLimits if nil
	only             string            // the versions of Trainer to test, such as "2.2 2.3"; all if empty
	accepts, refuses []submittedJob
	at, says         string // each denial has a path that starts with "at", and a message that contains "says"
}

func specs(texts ...string) []submittedJob {
	var all []submittedJob
	for _, text := range texts {
		all = append(all, submittedJob{spec: text})
	}
	return all
}

func pods(texts ...string) []submittedJob {
	var all []submittedJob
	for _, text := range texts {
		all = append(all, submittedJob{pod: text})
	}
	return all
}

var cases = map[string]ruleCase{
	"listed runtimes": {
		rule: RuleUnlistedRuntime, at: "spec.runtimeRef.name", says: "name one of: mpi, team-mpi",
		accepts: specs(`{runtimeRef: {name: mpi}}`, `{runtimeRef: {name: team-mpi, kind: TrainingRuntime, apiGroup: trainer.kubeflow.org}}`),
		refuses: specs(`{runtimeRef: {name: torch}}`, `{runtimeRef: {name: own, kind: TrainingRuntime}}`, `{runtimeRef: {name: Exempt}}`),
	},
	"a misspelled runtime is suggested": {
		rule: RuleUnlistedRuntime, at: "spec.runtimeRef.name", says: `did you mean "team-mpi"?`, refuses: specs(`{runtimeRef: {name: tema-mpi}}`),
	},
	"a listed name with another kind": {
		rule: RuleUnlistedRuntime, at: "spec.runtimeRef", says: "runtime \"mpi\" has the kind ClusterTrainingRuntime and the apiGroup trainer.kubeflow.org",
		refuses: specs(`{runtimeRef: {name: mpi, kind: TrainingRuntime}}`, `{runtimeRef: {name: mpi, apiGroup: acme.example}}`),
	},
	"runtimes of the tenant with a grant": {
		rule: RuleUnlistedRuntime, data: limitsWith("ownRuntimes", "true"), at: "spec.runtimeRef", says: "name",
		accepts: specs(`{runtimeRef: {name: own, kind: TrainingRuntime}, trainer: {image: any, numNodes: 3}}`),
		refuses: specs(`{runtimeRef: {name: own}}`, `{runtimeRef: {name: own, kind: Other}}`, `{runtimeRef: {name: own, kind: TrainingRuntime, apiGroup: acme.example}}`),
	},
	"runtimes of the tenant have the platform's ceilings": {
		rule: RuleNodeLimit, data: limitsWith("ownRuntimes", "true"), at: "spec.trainer.numNodes", says: "want 1 to 3",
		refuses: specs(`{runtimeRef: {name: own, kind: TrainingRuntime}, trainer: {numNodes: 4}}`),
	},
	"length of names": {
		rule: RuleJobNameLength, at: "metadata.name", says: "at most 44",
		accepts: []submittedJob{{metadata: "{name: " + strings.Repeat("a", 44) + "}"}, {metadata: "{generateName: " + strings.Repeat("a", 39) + "}"}},
		refuses: []submittedJob{{metadata: "{name: " + strings.Repeat("a", 45) + "}"}, {metadata: "{generateName: " + strings.Repeat("a", 90) + "}"}},
	},
	"allowed fields": {
		rule: RuleDisallowedField, at: "spec", says: "leave it out",
		accepts: specs(`{suspend: true, trainer: {command: [a], args: [b], resourcesPerNode: null}, initializer: {dataset: {storageUri: "s3://a/b", secretRef: {name: b}}}}`),
		refuses: specs(`{color: red}`, `{runtimeRef: {name: mpi, version: 1}}`, `{trainer: {priority: 1}}`, `{trainer: {resourcesPerNode: {claims: [{name: a}]}}}`,
			`{initializer: {other: {}}}`, `{initializer: {model: {path: a}}}`, `{trainer: {env: [{name: A, from: b}]}}`),
	},
	"a misspelled field is suggested": {
		rule: RuleDisallowedField, at: "spec.trainer.numNode", says: "did you mean \"numNodes\"?", refuses: specs(`{trainer: {numNode: 3}}`),
	},
	"fields of later versions": {
		rule: RuleDisallowedField, only: "2.1", at: "spec", says: "new in 2.2",
		accepts: specs(`{labels: {team: a}}`), refuses: specs(`{runtimePatches: []}`, `{activeDeadlineSeconds: 60}`),
	},
	"fields of earlier versions": {
		rule: RuleDisallowedField, only: "2.2 2.3", at: "spec", says: "write it into runtimePatches",
		accepts: specs(`{activeDeadlineSeconds: 60}`), refuses: specs(`{podTemplateOverrides: []}`, `{labels: {team: a}}`),
	},
	"number of nodes": {
		rule: RuleNodeLimit, at: "spec.trainer.numNodes", says: "want 1 to 8 as the number of nodes (the limit of runtime \"mpi\"), got",
		accepts: specs(`{}`, `{trainer: {numNodes: 1}}`, `{trainer: {numNodes: 8}}`),
		refuses: specs(`{trainer: {numNodes: 9}}`, `{trainer: {numNodes: 0}}`, `{trainer: {numNodes: -1}}`),
	},
	"number of processes": {
		rule: RuleProcessLimit, at: "spec.trainer.numProcPerNode", says: "want 1 to 4 as the number of processes per node (the limit of runtime \"mpi\"), got",
		accepts: specs(`{trainer: {numProcPerNode: 1}}`, `{trainer: {numProcPerNode: 4}}`),
		refuses: specs(`{trainer: {numProcPerNode: 5}}`, `{trainer: {numProcPerNode: 0}}`),
	},
	"words for the number of processes": {
		rule: RuleProcessLimit, only: "2.1", at: "spec.trainer.numProcPerNode", says: "want 1 to 4",
		refuses: specs(`{trainer: {numProcPerNode: auto}}`, `{trainer: {numProcPerNode: "2"}}`),
	},
	"default number of processes": {
		rule: RuleProcessLimit, data: limitsWith("mpi.maxGPUsPerNode", "100"), at: "spec.trainer.numProcPerNode", says: "got no number, so Trainer starts 5 processes, one for each GPU",
		accepts: specs(`{trainer: {resourcesPerNode: {requests: {nvidia.com/gpu: 4}}}}`, `{trainer: {numProcPerNode: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 5}}}}`,
			`{trainer: {resourcesPerNode: {limits: {nvidia.com/mig-1g.5gb: 5}}}}`),
		refuses: specs(`{trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 5}}}}`, `{trainer: {resourcesPerNode: {requests: {nvidia.com/gpu: 5000m}}}}`),
	},
	"number of processes of the runtime": {
		rule: RuleProcessLimit, data: limitsWith("team-mpi.maxGPUsPerNode", "100"), at: "spec",
		accepts: specs(`{runtimeRef: {name: team-mpi, kind: TrainingRuntime}, trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 5}}}}`),
		refuses: specs(`{runtimeRef: {name: team-mpi, kind: TrainingRuntime}, trainer: {numProcPerNode: 5}}`),
	},
	"number of GPUs": {
		rule: RuleGPULimit, at: "spec.trainer.resourcesPerNode", says: "want at most 4 GPUs per node (the limit of runtime \"mpi\"), got",
		accepts: specs(`{trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}}`, `{trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 4000m, cpu: 64}}}}`,
			`{trainer: {resourcesPerNode: {limits: {amd.com/gpu: 2}}}}`, `{trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 0, amd.com/GPU: 4}}}}`),
		refuses: specs(`{trainer: {numProcPerNode: 1, resourcesPerNode: {limits: {nvidia.com/gpu: 5}}}}`, `{trainer: {numProcPerNode: 1, resourcesPerNode: {requests: {nvidia.com/gpu: "4001m"}}}}`,
			`{trainer: {numProcPerNode: 1, resourcesPerNode: {limits: {nvidia.com/gpu: 1Ki}}}}`),
	},
	"quantities": {
		rule: RuleInvalidQuantity, at: "spec.trainer.", says: "want a positive quantity",
		accepts: specs(`{trainer: {resourcesPerNode: {limits: {cpu: 0.5e1, memory: 64.5Gi}, requests: {cpu: "+4", memory: "1E"}}}}`,
			`{trainer: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}]}}`),
		refuses: specs(`{trainer: {resourcesPerNode: {limits: {cpu: 1e999999}}}}`, `{trainer: {resourcesPerNode: {requests: {nvidia.com/gpu: "0e999"}}}}`,
			`{trainer: {numProcPerNode: 1, resourcesPerNode: {limits: {nvidia.com/gpu: 5, amd.com/gpu: -4}}}}`,
			`{trainer: {resourcesPerNode: {limits: {cpu: "1000000000000000"}}}}`, `{trainer: {resourcesPerNode: {limits: {cpu: "0.0000000001"}}}}`,
			`{trainer: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1e999}}}]}}`),
	},
	"quantities of patches": {
		rule: RuleInvalidQuantity, at: "spec.", says: "want a positive quantity",
		accepts: pods(`{spec: {volumes: [{name: a, emptyDir: {sizeLimit: 1Gi}}]}}`),
		refuses: pods(`{spec: {volumes: [{name: a, emptyDir: {sizeLimit: 1e999}}]}}`,
			`{spec: {volumes: [{name: a, downwardAPI: {items: [{path: b, resourceFieldRef: {resource: limits.cpu, divisor: 1e999}}]}}]}}`,
			`{spec: {volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: b, resourceFieldRef: {resource: limits.cpu, divisor: 1e999}}]}}]}}]}}`,
			`{spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1e999}}}]}]}}`),
	},
	"a large job": {
		rule: RuleOversizedJob, at: "spec", says: "want at most 131072 bytes, 1000 fields and 16 patches (the spec, labels, annotations and owners together), got about ",
		accepts: specs(`{trainer: {command: [sh, -c], args: ["` + strings.Repeat("x", 130000) + `"]}}`),
		refuses: append(specs(`{trainer: {args: ["`+strings.Repeat("x", 131070)+`"]}}`, `{trainer: {args: ["`+strings.Repeat(`\"`, 65530)+`"]}}`,
			`{trainer: {env: [{name: A, value: "`+strings.Repeat("x", 131070)+`"}]}}`,
			`{trainer: {args: ["`+strings.Repeat("<", 21900)+`"]}}`, `{trainer: {args: ["`+strings.Repeat(`\u0007`, 21900)+`"]}}`),
			submittedJob{metadata: `{name: a, annotations: {a: ` + strings.Repeat("x", 131070) + `}}`}),
	},
	"many fields": {
		rule: RuleOversizedJob, at: "spec", says: "1000 fields",
		accepts: []submittedJob{{metadata: `{name: a, labels: {` + joinNumbers(900, "a%d: b") + `}}`}},
		refuses: append(specs(`{trainer: {resourcesPerNode: {limits: {`+joinNumbers(1000, "a.io/a%d: 1")+`}}}}`),
			submittedJob{metadata: `{name: a, labels: {` + joinNumbers(1000, "a%d: b") + `}}`},
			submittedJob{metadata: `{name: a, annotations: {` + joinNumbers(1000, "a%d: b") + `}}`},
			submittedJob{metadata: `{name: a, ownerReferences: [` + joinNumbers(250, "{apiVersion: v1, kind: ConfigMap, name: a%d, uid: b}") + `]}`}),
	},
	"many empty mappings": {
		rule: RuleOversizedJob, at: "spec", says: "1000 fields",
		refuses: pods(`{spec: {volumes: [{name: a, projected: {sources: [` + strings.Repeat("{}, ", 1000) + `]}}]}}`),
	},
	"texts that count as fields": {
		rule: RuleOversizedJob, at: "spec", says: "1000 fields", only: "2.1",
		refuses: specs(`{trainer: {command: [`+joinNumbers(1000, `":%d"`)+`]}}`, `{trainer: {command: [`+joinNumbers(1000, `"{}%d"`)+`]}}`),
	},
	"many patches": {
		rule: RuleOversizedJob, at: "spec", says: "16 patches", only: "2.1",
		accepts: specs(`{podTemplateOverrides: [` + strings.Repeat("{targetJobs: [{name: node}]}, ", 16) + `]}`),
		refuses: specs(`{podTemplateOverrides: [` + strings.Repeat("{targetJobs: [{name: node}]}, ", 17) + `]}`),
	},
	"large patches": {
		rule: RuleOversizedJob, at: "spec", says: "move data from the TrainJob",
		refuses: pods(`{spec: {initContainers: [{name: identity, env: [{name: A, value: "`+strings.Repeat("x", 131070)+`"}]}]}}`,
			`{spec: {volumes: [{name: a, configMap: {items: [`+strings.Repeat(`{key: a, path: b},`, 6600)+`]}}]}}`),
	},
	"queues": {
		rule: RuleUnlistedQueue, data: limitsWith("queues", "fast slow"), at: "metadata.labels", says: "want fast or slow",
		accepts: []submittedJob{{metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: slow}}`}},
		refuses: []submittedJob{{}, {metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: default}}`}, {metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: ""}}`}},
	},
	"a default queue": {
		rule: RuleUnlistedQueue, data: limitsWith("queues", "default slow"), at: "metadata.labels", says: "got fast",
		accepts: []submittedJob{{}, {metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: default}}`}},
		refuses: []submittedJob{{metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: fast}}`}},
	},
	"no queues": {rule: RuleUnlistedQueue, accepts: []submittedJob{{}, {metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: any}}`}}},
	"priority classes": {
		rule: RuleUnlistedPriorityClass, data: limitsWith("priorityClasses", "high low"), at: "metadata.labels", says: "name one of: high, low",
		accepts: []submittedJob{{}, {metadata: `{name: a, labels: {kueue.x-k8s.io/priority-class: low}}`}, {metadata: `{name: a, labels: {kueue.x-k8s.io/priority-class: default}}`}},
		refuses: []submittedJob{{metadata: `{name: a, labels: {kueue.x-k8s.io/priority-class: urgent}}`}},
	},
	"no priority classes": {
		rule: RuleUnlistedPriorityClass, at: "metadata.labels", says: "urgent is not a priority class of this namespace: leave it out",
		refuses: []submittedJob{{metadata: `{name: a, labels: {kueue.x-k8s.io/priority-class: urgent}}`}},
	},
	"settings of Kueue": {
		rule: RuleUnlistedKueueSetting, at: "metadata.", says: "leave it out",
		accepts: []submittedJob{{metadata: `{name: a, labels: {kueue.x-k8s.io/max-exec-time-seconds: "60", other: a}}`}},
		refuses: []submittedJob{
			{metadata: `{name: a, labels: {kueue.x-k8s.io/prebuilt-workload-name: b}}`}, {metadata: `{name: a, annotations: {provreq.kueue.x-k8s.io/a: b}}`},
		},
	},
	"metadata of controllers": {
		rule: RuleReservedMetadata, at: "metadata.",
		accepts: []submittedJob{{metadata: `{name: a, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: b}]}`}},
		refuses: []submittedJob{{metadata: `{name: a, finalizers: [orphan]}`}, {metadata: `{name: a, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: b, controller: true}]}`}},
	},
	"patched jobs and containers": {
		rule: RuleUnknownPatchTarget, at: "spec.", says: "cannot be patched",
		accepts: pods(`{spec: {containers: [{name: node, volumeMounts: [{name: a, mountPath: /a}]}], initContainers: [{name: preflight, env: [{name: A, value: b}]}]}}`),
		refuses: pods(`{spec: {containers: [{name: sidecar}]}}`, `{spec: {initContainers: [{name: setup}]}}`, `{spec: {containers: [{name: node, env: [{name: A, value: b}]}]}}`),
	},
	"patched jobs of a runtime of the tenant": {
		rule: RuleUnknownPatchTarget, data: limitsWith("ownRuntimes", "true"),
		accepts: []submittedJob{{spec: `{runtimeRef: {name: ours, kind: TrainingRuntime}}`, pod: `{spec: {containers: [{name: sidecar}]}}`}},
	},
	"initializers": {
		rule: RuleMissingInitializer, data: limitsWith("mpi.initializers", "dataset"), at: "spec.initializer.model", says: "leave this field out",
		accepts: specs(`{initializer: {dataset: {storageUri: "hf://a/b"}}}`), refuses: specs(`{initializer: {model: {storageUri: "hf://a/b"}}}`),
	},
	"initializers of a runtime of the tenant": {
		rule: RuleMissingInitializer, data: limitsWith("ownRuntimes", "true"),
		accepts: specs(`{runtimeRef: {name: ours, kind: TrainingRuntime}, initializer: {model: {}}}`),
	},
	"amounts of 0": {
		rule: RuleZeroAmount, at: "spec.trainer.resourcesPerNode.", says: "want more than 0",
		accepts: specs(`{trainer: {resourcesPerNode: {limits: {cpu: 1m, memory: 1, nvidia.com/gpu: 0}}}}`),
		refuses: specs(`{trainer: {resourcesPerNode: {limits: {cpu: 0, memory: "0"}}}}`, `{trainer: {resourcesPerNode: {requests: {cpu: 0.000}}}}`,
			`{trainer: {resourcesPerNode: {limits: {memory: 0Gi}}}}`),
	},
	"GPUs are added to the runtime's": {
		rule: RuleGPULimit, only: "2.3", at: "spec.trainer.resourcesPerNode", says: "got 5",
		refuses: specs(`{trainer: {resourcesPerNode: {limits: {amd.com/gpu: 3}}}}`, `{trainer: {resourcesPerNode: {limits: {nvidia.com/mig-1g.5gb: 3}}}}`),
	},
	"GPUs replace the runtime's": {
		rule: RuleGPULimit, only: "2.1 2.2", at: "spec.trainer.resourcesPerNode", says: "got 5",
		accepts: specs(`{trainer: {resourcesPerNode: {limits: {amd.com/gpu: 3}}}}`, `{trainer: {resourcesPerNode: {limits: {nvidia.com/mig-1g.5gb: 4}}}}`),
		refuses: specs(`{trainer: {resourcesPerNode: {limits: {nvidia.com/mig-1g.5gb: 5}}}}`),
	},
	"CPU and memory are required": {
		rule: RuleMissingResources, only: "2.1 2.2", data: limitsWith("mpi.resources.cpu", "2", "mpi.resources.memory", "4Gi"), at: "spec.trainer.resourcesPerNode", says: "(cpu: 2",
		accepts: specs(`{trainer: {resourcesPerNode: {limits: {cpu: 1, memory: 1Gi}}}}`, `{trainer: {resourcesPerNode: {limits: {memory: 1Gi}, requests: {cpu: 1}}}}`,
			`{trainer: {resourcesPerNode: null}}`, `{trainer: {resourcesPerNode: {limits: null}}}`),
		refuses: specs(`{trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}}`, `{trainer: {resourcesPerNode: {requests: {}}}}`, `{trainer: {resourcesPerNode: {requests: {memory: 1Gi}}}}`),
	},
	"CPU and memory of the runtime are kept": {
		rule: RuleMissingResources, only: "2.3", data: limitsWith("mpi.resources.cpu", "2", "mpi.resources.memory", "4Gi"),
		accepts: specs(`{trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}}`, `{trainer: {resourcesPerNode: {requests: {}}}}`),
	},
	"RDMA with encryption": {
		rule: RuleUnencryptedRDMA, data: limitsWith("encryption", "ipsec"), at: "spec.trainer.resourcesPerNode", says: "bypasses the pod network, which ipsec encrypts here",
		accepts: specs(`{trainer: {resourcesPerNode: {limits: {cpu: 1, nvidia.com/gpu: 1, acme.example/fibre: 1}}}}`),
		refuses: specs(`{trainer: {resourcesPerNode: {limits: {rdma/hca_shared: 1}}}}`, `{trainer: {resourcesPerNode: {requests: {vpc.amazonaws.com/efa: 1}}}}`,
			`{trainer: {resourcesPerNode: {limits: {openshift.io/mlnx_ib: 0}}}}`),
	},
	"RDMA without encryption": {
		rule: RuleUnencryptedRDMA, accepts: specs(`{trainer: {resourcesPerNode: {limits: {rdma/hca_shared: 1}}}}`),
	},
	"image of the runtime": {
		rule: RuleImageMismatch, at: "spec.trainer.image", says: "the nodes would run quay.io/acme/mpi:1",
		accepts: specs(`{trainer: {image: "quay.io/acme/mpi:1"}}`, `{trainer: {image: ""}}`), refuses: specs(`{trainer: {image: other}}`),
	},
	"the hostfile of Trainer with Hydra": {
		rule: RuleUnreadableHostfile, data: limitsWith("mpi.hostfile", "unreadable"), at: "spec.trainer.command", says: "mpirun of runtime \"mpi\" cannot read /etc/mpi/hostfile",
		accepts: specs(`{}`, `{trainer: {command: [mpirun, train]}}`, `{trainer: {command: [bash, -c, /etc/mpi/hostfile]}}`, `{trainer: {command: [mpirun, --hostfile, /tmp/hosts, a]}}`,
			`{trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a], env: [{name: PATH, value: "/mpi-run/bin:/bin"}]}}`),
		refuses: specs(`{trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a]}}`, `{trainer: {command: [mpirun], args: [-f, /etc/mpi/hostfile, a]}}`,
			`{trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a], env: [{name: A, value: "/mpi-run/bin:/bin"}, {name: PATH, value: /bin}]}}`),
	},
	"the hostfile of Trainer with a converting PATH": {
		rule: RuleUnreadableHostfile, data: limitsWith("mpi.hostfile", "converted"), at: "spec.trainer.command", says: "set PATH to \"/mpi-run/bin:\" followed by the PATH of the image",
		accepts: specs(`{trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a]}}`),
		refuses: specs(`{trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a], env: [{name: PATH, value: "/bin:/mpi-run/bin"}]}}`,
			`{trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a], env: [{name: PATH}]}}`),
	},
	"the hostfile of Trainer with Open MPI": {
		rule: RuleUnreadableHostfile, data: limitsWith("ownRuntimes", "true"),
		accepts: specs(`{trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a]}}`, `{runtimeRef: {name: own, kind: TrainingRuntime}, trainer: {command: [mpirun, --hostfile, /etc/mpi/hostfile, a]}}`),
	},
	"reserved variables": {
		rule: RuleReservedVariable, at: "spec.trainer.env[1].name", says: "controls where ranks run",
		accepts: specs(`{trainer: {env: [{name: OMPI_MCA_btl, value: self}]}}`),
		refuses: specs(`{trainer: {env: [{name: A}, {name: OMPI_MCA_orte_default_hostfile, value: /dev/null}]}}`),
	},
	"sources of variables": {
		rule: RuleDisallowedVariableSource, at: "spec", says: "may not set here",
		accepts: append(specs(`{trainer: {env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}}}, {name: B, valueFrom: {secretKeyRef: {name: a, key: b}}}]}}`),
			pods(`{spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}`)...),
		refuses: append(specs(`{trainer: {env: [{name: A, valueFrom: {fileKeyRef: {key: a}}}]}}`, `{initializer: {model: {env: [{name: A, valueFrom: {fileKeyRef: {key: a}}}]}}}`),
			pods(`{spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {fileKeyRef: {key: a}}}]}]}}`)...),
	},
	"managers": {
		rule: RuleUnknownManager, at: "spec.managedBy", says: "want trainer.kubeflow.org/trainjob-controller, or none, got",
		accepts: specs(`{managedBy: trainer.kubeflow.org/trainjob-controller}`), refuses: specs(`{managedBy: kueue.x-k8s.io/multikueue}`, `{managedBy: ""}`),
	},
	"MultiKueue as manager": {
		rule: RuleUnknownManager, data: limitsWith("managers", "trainer.kubeflow.org/trainjob-controller kueue.x-k8s.io/multikueue"), at: "spec.managedBy", says: " or ",
		accepts: specs(`{managedBy: kueue.x-k8s.io/multikueue}`), refuses: specs(`{managedBy: acme.example/me}`),
	},
	"SSH keys of jobs": {
		rule: RuleSSHKeyAccess, at: "spec", says: "leave this Secret out",
		accepts: append(specs(`{initializer: {dataset: {secretRef: {name: mine}}}}`), pods(`{spec: {volumes: [{name: a, secret: {secretName: mine}}]}}`)...),
		refuses: append(specs(`{initializer: {dataset: {secretRef: {name: other-mpi-ssh-auth}}}}`,
			`{trainer: {env: [{name: A, valueFrom: {secretKeyRef: {name: other-mpi-ssh-auth, key: a}}}]}}`),
			pods(`{spec: {volumes: [{name: a, secret: {secretName: other-mpi-ssh-auth}}]}}`,
				`{spec: {volumes: [{name: a, projected: {sources: [{configMap: {name: a}}, {secret: {name: other-mpi-ssh-auth}}]}}]}}`,
				`{spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {secretKeyRef: {name: other-mpi-ssh-auth, key: a}}}]}]}}`)...),
	},
	"allowed fields of patches": {
		rule: RuleDisallowedPatchField, at: "spec.", says: "leave ",
		accepts: pods(`{metadata: {}, spec: {initContainers: [{name: identity, env: [{name: A, value: b}], volumeMounts: [{name: a, mountPath: /a, subPath: b, readOnly: true}]}]}}`, `{spec: null}`),
		refuses: pods(`{spec: {affinity: {}}}`, `{spec: {tolerations: []}}`, `{spec: {schedulingGates: [{name: a}]}}`, `{spec: {serviceAccountName: a}}`,
			`{spec: {imagePullSecrets: [{name: a}]}}`, `{spec: {hostNetwork: true}}`, `{spec: {securityContext: {}}}`, `{spec: {terminationGracePeriodSeconds: 1}}`,
			`{spec: {containers: [{name: node, image: b}]}}`, `{spec: {initContainers: [{name: identity, securityContext: {}}]}}`,
			`{spec: {containers: [{name: node, volumeMounts: [{name: a, mountPath: /a, mountPropagation: Bidirectional}]}]}}`,
			`{metadata: {name: a}}`, `{metadata: {finalizers: [a]}}`, `{other: a}`),
	},
	"allowed fields of patches above pods": {
		rule: RuleDisallowedPatchField, only: "2.2 2.3", at: "spec.runtimePatches[0]", says: "leave it out",
		accepts: specs(`{runtimePatches: [{manager: a.example/b, time: "2026-01-31T12:00:00Z", trainingRuntimeSpec: {template: {metadata: {labels: {team: a}}}}}]}`),
		refuses: specs(`{runtimePatches: [{manager: a.example/b, other: a}]}`, `{runtimePatches: [{manager: a.example/b, trainingRuntimeSpec: {mlPolicy: {}}}]}`,
			`{runtimePatches: [{manager: a.example/b, trainingRuntimeSpec: {template: {spec: {network: {}}}}}]}`,
			`{runtimePatches: [{manager: a.example/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, replicas: 4}]}}}}]}`,
			`{runtimePatches: [{manager: a.example/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {parallelism: 4}}}]}}}}]}`),
	},
	"volumes of the namespace": {
		rule: RuleDisallowedVolume, at: "spec", says: "",
		accepts: pods(`{spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: b}}, {name: b, configMap: {name: b}}, {name: c, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]}}`,
			`{spec: {volumes: [{name: a, projected: {defaultMode: 256, sources: [{configMap: {name: a}}, {downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]}}]}}`),
		refuses: pods(`{spec: {volumes: [{name: a, hostPath: {path: /}}]}}`, `{spec: {volumes: [{name: a, nfs: {server: a, path: /}}]}}`, `{spec: {volumes: [{name: a, csi: {driver: a}}]}}`,
			`{spec: {volumes: [{name: a, ephemeral: {}}]}}`, `{spec: {volumes: [{name: a, image: {reference: a}}]}}`,
			`{spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: a}}]}}]}}`, `{spec: {volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {path: a}}]}}]}}`,
			`{spec: {volumes: [{name: mpi-ssh-auth, emptyDir: {}}]}}`, `{spec: {volumes: [{name: storage-data, emptyDir: {}}]}}`),
	},
	"mounts of volumes of the TrainJob": {
		rule: RuleRuntimeVolumeMount, at: "spec", says: "is a volume of the runtime",
		accepts: pods(`{spec: {volumes: [{name: a, emptyDir: {}}], containers: [{name: node, volumeMounts: [{name: a, mountPath: /a, subPath: storage-data}]}]}}`),
		refuses: pods(`{spec: {containers: [{name: node, volumeMounts: [{name: storage-data, mountPath: /all}]}]}}`,
			`{spec: {initContainers: [{name: identity, volumeMounts: [{name: a, mountPath: /a}, {name: mpi-ssh-auth, mountPath: /keys}]}]}}`),
	},
	"listed labels and annotations": {
		rule: RuleUnlistedLabel, at: "spec", says: "have it listed in spec.admission.",
		accepts: pods(`{metadata: {labels: {team: a, cost.acme.example/centre: b}, annotations: {kueue.x-k8s.io/podset-group-name: a}}}`),
		refuses: pods(`{metadata: {labels: {app: a}}}`, `{metadata: {annotations: {team: a}}}`, `{metadata: {labels: {Team: a}}}`),
	},
	"listed labels of the JobSet": {
		rule: RuleUnlistedLabel, only: "2.1", at: "spec.", says: `app is not among`,
		accepts: specs(`{labels: {team: a}}`), refuses: specs(`{labels: {app: a}}`, `{annotations: {app: a}}`),
	},
	"listed labels of the JobSet and of Jobs": {
		rule: RuleUnlistedLabel, only: "2.2 2.3", at: "spec.runtimePatches[0].trainingRuntimeSpec.template", says: `app is not among`,
		refuses: specs(`{runtimePatches: [{manager: a.example/b, trainingRuntimeSpec: {template: {metadata: {labels: {app: a}}}}}]}`,
			`{runtimePatches: [{manager: a.example/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {metadata: {annotations: {app: a}}}}]}}}}]}`),
	},
	"listed node labels": {
		rule: RuleUnlistedNodeLabel, at: "spec", says: `gpu is not among the node labels`,
		accepts: pods(`{spec: {nodeSelector: {zone: a}}}`), refuses: pods(`{spec: {nodeSelector: {zone: a, gpu: b}}}`),
	},
}

func joinNumbers(n int, format string) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(format, i+1))
	}
	return strings.Join(items, ", ")
}
