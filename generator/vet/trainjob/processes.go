package trainjob

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// Rules about the number of processes of a TrainJob. Two other rules have the same names, but check
// the runtimes in platform documents.
var (
	moreThanCPUs = problem.Rule{Name: "more-processes-than-cpus", Doc: "Each process of a TrainJob without GPUs has a CPU of its own"}
	moreThanGPUs = problem.Rule{Name: "more-processes-than-gpus", Doc: "Each process of a TrainJob with GPUs has a GPU of its own"}
)

const processesPath = "spec.trainer.numProcPerNode"

// findResourceProblems checks the devices, the amounts of resources and the number of processes of a TrainJob.
// findResourceProblems reports values with which the TrainJob would not run as intended. The result "devices" lists the
// problems of devices, and "others" lists all other problems. findResourceProblems does not check the number of
// processes in two cases: the platform does not contain the runtime, or a device is wrong. With a wrong device, the
// number of GPUs can be wrong as well.
func (p Platform) findResourceProblems(job guard.Job, runtime guard.Runtime) (devices, others []violation) {
	object, known := p.runtimes[job.Runtime.Name]
	known = known && object.kind == job.Runtime.Kind && runtime.Kind == job.Runtime.Kind
	devices = findWrongResources(job)
	if known && len(devices) == 0 {
		devices = findLostDevices(job, object)
	}
	var pods []map[string]resource.Quantity
	if known {
		pods = object.adjustedPods()
	}
	others = slices.Concat(findMissingUnits(job), findRefusedAmounts(job, runtime, pods))
	if known && len(devices) == 0 {
		others = append(others, findTooManyProcesses(job, runtime, object)...)
	}
	return devices, others
}

// adjustedPods returns one item for each type of pod to which Trainer applies resourcesPerNode of a TrainJob. An item
// holds the limits that the runtime itself sets for this type of pod. The first item of the result holds the limits of
// the launcher. If the launcher is also a node, the second item holds the limits of the other nodes. If the launcher is
// not a node, there is no second item, because Trainer then applies resourcesPerNode only to the launcher.
func (r runtimeObject) adjustedPods() []map[string]resource.Quantity {
	if r.launcherIsNode {
		return []map[string]resource.Quantity{r.launcher, r.node}
	}
	return []map[string]resource.Quantity{r.launcher}
}

// findTooManyProcesses reports a TrainJob that starts too many processes on a host. If the host has GPUs, the number of
// processes must not exceed the number of GPUs. If the preflight check of the runtime counts CPUs, and the host has a
// CPU limit, the number of processes must not exceed the number of CPUs. If a node gets too many processes, the
// preflight check fails. The preflight check does not count the GPUs and CPUs of the launcher. Therefore, if only the
// launcher gets too many processes, the TrainJob starts, but several processes share a GPU or a CPU. If the preflight
// check of the runtime lets processes share GPUs and CPUs, findTooManyProcesses reports nothing.
func findTooManyProcesses(job guard.Job, runtime guard.Runtime, r runtimeObject) []violation {
	processes := processesOf(job, runtime)
	if r.oversubscribes || job.UnknownAmounts || processes > runtime.MaxProcPerNode { // another rule checks MaxProcPerNode
		return nil
	}
	path := processesPath
	if job.Processes == nil {
		path = resourcesPath
	}
	for _, h := range hostsOf(job, r) {
		if gpus := countGPUs(h.limits); gpus > 0 && processes > gpus {
			return []violation{{moreThanGPUs, path, fmt.Sprintf("want at most %d, which is the number of GPUs of %s, got %d: %s", gpus, h.name, processes, h.remedy("GPUs"))}}
		}
		if cpus, limited := countCPUs(h.limits); r.countsCPUs && limited && processes > cpus {
			limit := h.limits["cpu"]
			return []violation{{moreThanCPUs, path, fmt.Sprintf("want at most %d, because the CPU limit of %s is %s, got %d: %s", cpus, h.name, limit.String(), processes, h.remedy("CPUs"))}}
		}
	}
	return nil
}

// processesOf returns the number of processes on each host. In two cases, the result is 0, so that findTooManyProcesses
// reports nothing. In the first case, the number of processes is unknown. In the second case, numProcPerNode is 1.
// Trainer then starts one process for each GPU of a host, and a single process on a host without GPUs. Therefore no
// host gets too many processes.
func processesOf(job guard.Job, runtime guard.Runtime) int64 {
	n := runtime.NumProcPerNode
	if job.Processes != nil {
		n = int64(job.Processes.IntValue())
		if job.Processes.Type == intstr.String {
			return 0
		}
	}
	if n == 1 {
		return 0
	}
	return n
}

// host is a pod that runs ranks.
type host struct {
	name       string
	adjustable bool // whether the pod gets the resources of the TrainJob
	limits     map[string]resource.Quantity
}

func (h host) remedy(what string) string {
	if !h.adjustable {
		return "lower numProcPerNode, or use a runtime with more " + what
	}
	return "lower numProcPerNode, or request more " + what + " in resourcesPerNode"
}

// hostsOf returns the pods in which ranks of a TrainJob would run, with the limits of each pod. If the launcher is not a
// node, ranks run only in the nodes, and the nodes keep the limits of the runtime.
func hostsOf(job guard.Job, r runtimeObject) []host {
	if !r.launcherIsNode {
		return []host{{"each node", false, r.node}}
	}
	return []host{{"each node", true, limitsWith(job, r.node)}, {"the launcher", true, limitsWith(job, r.launcher)}}
}

// limitsWith returns the limits of a pod after Trainer has applied the amounts of a TrainJob to it. The
// argument "own" contains the earlier limits, which the training runtime sets.
func limitsWith(job guard.Job, own map[string]resource.Quantity) map[string]resource.Quantity {
	limits := map[string]resource.Quantity{}
	if job.Replaces == "" {
		maps.Copy(limits, own)
	}
	maps.Copy(limits, job.Limits)
	return limits
}

// gpuNames matches the names of resources that are GPUs or MIG slices. The CUE package runtimes contains the same
// pattern, with the name #GPUNames.
var gpuNames = regexp.MustCompile(`(?i)gpu|^nvidia\.com/mig-`)

func countGPUs(limits map[string]resource.Quantity) int64 {
	var gpus int64
	for name, amount := range limits {
		if gpuNames.MatchString(name) {
			gpus += amount.Value()
		}
	}
	return gpus
}

// countCPUs returns the number of CPUs that the preflight check counts. The preflight check rounds the CPU limit of the
// pod down to an integer, and counts at least 1 CPU. The result "limited" is false if the pod has no CPU limit. A pod
// without a CPU limit can use all CPUs of its cluster node.
func countCPUs(limits map[string]resource.Quantity) (cpus int64, limited bool) {
	amount, limited := limits["cpu"]
	return max(1, amount.MilliValue()/1000), limited
}
