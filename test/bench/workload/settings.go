package workload

import (
	"fmt"
	"strings"
)

// bases are the catalogue's entries.
var bases = []string{"openmpi-cpu", "horovod", "openmpi-gpu", "intel-mpi", "deepspeed-mpi", "mpich", "horovod-cpu"}

// counts says which bases count GPUs.
var counts = map[string]bool{"horovod": true, "openmpi-gpu": true, "deepspeed-mpi": true}

// image is a runtime's image in a registry; every fourth is named by its digest.
func image(registry string, i, version int) string {
	name := fmt.Sprintf("%s/training/%s", registry, bases[i%len(bases)])
	if i%4 == 3 {
		return name + "@sha256:" + strings.Repeat(fmt.Sprintf("%x%x", i%16, version%16), 32)
	}
	return fmt.Sprintf("%s:%d.%d", name, 1+i%5, version)
}

// settings are those of one runtime. Which ones it has follows from its number,
// with strides that differ, so that few runtimes are alike.
func settings(i int) mapping {
	base := bases[i%len(bases)]
	all := mapping{
		"from":             base,
		"scope":            "namespace",
		"image":            image("registry.example.com", i, 0),
		"imagePullSecrets": []string{"pull"},
		"resources":        mapping{"cpu": 2 + i%8, "memory": fmt.Sprintf("%dGi", 8<<(i%4))},
		"env":              mapping{"OMP_NUM_THREADS": fmt.Sprint(1 + i%4)},
		"limits":           atMost(16 + i%8),
	}
	if counts[base] {
		forGPUs(all, i)
	} else {
		all["numProcPerNode"] = 2 + i%4
	}
	if i%2 == 0 {
		withStorage(all, i)
	}
	if i%3 == 0 {
		withPlacement(all)
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

func forGPUs(all mapping, i int) {
	all["resources"].(mapping)["nvidia.com/gpu"] = 1 + i%4
	all["sharedMemory"] = "8Gi"
	all["env"].(mapping)["NCCL_DEBUG"] = "WARN"
	all["tolerations"] = []mapping{{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}}
	all["annotations"] = mapping{"k8s.v1.cni.cncf.io/networks": "rdma"}
}

// withStorage mounts a dataset; every fourth runtime also fetches it first.
func withStorage(all mapping, i int) {
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

// withPlacement chooses cluster nodes, and puts the pods of a job near to each other.
func withPlacement(all mapping) {
	all["nodeSelector"] = mapping{"pool": "training"}
	all["affinity"] = mapping{"podAffinity": mapping{"preferredDuringSchedulingIgnoredDuringExecution": []mapping{{
		"weight": 100,
		"podAffinityTerm": mapping{
			"topologyKey":    "topology.kubernetes.io/zone",
			"matchLabelKeys": []string{"jobset.sigs.k8s.io/jobset-name"},
			"labelSelector": mapping{"matchExpressions": []mapping{
				{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"},
			}},
		},
	}}}}
}
