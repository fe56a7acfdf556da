package workload

import (
	"fmt"
	"strings"
)

// catalogueNames lists the entries of trainyard's catalogue of runtimes.
var catalogueNames = []string{"openmpi-cpu", "horovod", "openmpi-gpu", "intel-mpi", "deepspeed-mpi", "mpich", "horovod-cpu"}

// usesGPUs contains the entries of the catalogue that use GPUs.
var usesGPUs = map[string]bool{"horovod": true, "openmpi-gpu": true, "deepspeed-mpi": true}

// imageName returns the image of runtime i in a registry. Every fourth image has a digest.
func imageName(registry string, i, version int) string {
	name := fmt.Sprintf("%s/training/%s", registry, catalogueNames[i%len(catalogueNames)])
	if i%4 == 3 {
		return name + "@sha256:" + strings.Repeat(fmt.Sprintf("%x%x", i%16, version%16), 32)
	}
	return fmt.Sprintf("%s:%d.%d", name, 1+i%5, version)
}

// runtimeSettings returns the settings of runtime i. Most settings are computed from i modulo a small number. For
// example, the field "from" is computed from i modulo 7, and the memory is computed from i modulo 4. Because the
// settings use different numbers, few runtimes have equal values for all settings.
func runtimeSettings(i int) mapping {
	base := catalogueNames[i%len(catalogueNames)]
	all := mapping{
		"from":             base,
		"scope":            "namespace",
		"image":            imageName("registry.example.com", i, 0),
		"imagePullSecrets": []string{"pull"},
		"resources":        mapping{"cpu": 2 + i%8, "memory": fmt.Sprintf("%dGi", 8<<(i%4))},
		"env":              mapping{"OMP_NUM_THREADS": fmt.Sprint(1 + i%4)},
		"limits":           atMost(16 + i%8),
	}
	if usesGPUs[base] {
		addGPUs(all, i)
	} else {
		all["numProcPerNode"] = 2 + i%4
	}
	if i%2 == 0 {
		addStorage(all, i)
	}
	if i%3 == 0 {
		addPlacement(all)
	}
	if i%4 == 1 {
		all["runLauncherAsNode"] = false
		all["launcher"] = mapping{"resources": mapping{"cpu": 1, "memory": "2Gi"}}
	}
	if i%5 == 0 {
		all["gang"] = mapping{"timeout": "30m", "priorityClass": "training-high"}
		all["readOnlyRootFilesystem"] = true
		all["env"].(mapping)["HOME"] = "/tmp"
	}
	return all
}

func addGPUs(all mapping, i int) {
	all["resources"].(mapping)["nvidia.com/gpu"] = 1 + i%4
	all["sharedMemory"] = "8Gi"
	all["env"].(mapping)["NCCL_DEBUG"] = "WARN"
	all["tolerations"] = []mapping{{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}}
	all["annotations"] = mapping{"k8s.v1.cni.cncf.io/networks": "rdma"}
}

// addStorage adds storage for a dataset and for results. Every fourth runtime with storage also downloads the
// dataset.
func addStorage(all mapping, i int) {
	all["storage"] = mapping{
		"dataset": mapping{"claim": "dataset", "path": "/data"},
		"results": mapping{"s3": "training-results", "prefix": "RESULTS_"},
	}
	if i%8 == 0 {
		all["initializers"] = mapping{"dataset": mapping{
			"storage": "dataset", "uri": "s3://datasets/imagenet", "secret": "dataset-credentials",
		}}
	}
}

// addPlacement adds a node selector, and an affinity that prefers the same zone for all pods of a TrainJob.
func addPlacement(all mapping) {
	all["nodeSelector"] = mapping{"pool": "training"}
	all["affinity"] = mapping{"podAffinity": mapping{"preferredDuringSchedulingIgnoredDuringExecution": []mapping{{
		"weight": 100,
		"podAffinityTerm": mapping{
			"topologyKey":    "topology.kubernetes.io/zone",
			"matchLabelKeys": []string{"jobset.sigs.k8s.io/jobset-name"},
			"labelSelector": mapping{"matchExpressions": []mapping{
				{"key": "jobset.sigs.k8s.io/replicatedjob-name", "operator": "Exists"},
			}},
		},
	}}}}
}
