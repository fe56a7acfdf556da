package guard

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/message"
)

// jobNameLength denies names that are longer than runtime.MaxName. Trainer accepts a longer name, but JobSet
// then cannot create the pods, so the job never starts.
func jobNameLength(job Job, runtime Runtime) field.ErrorList {
	if got := int64(len(job.Name)); got > runtime.MaxName {
		return newViolation(field.NewPath("metadata", "name"), "want at most %d characters, got %d, because the names of the pods begin with the name of the TrainJob", runtime.MaxName, got)
	}
	return nil
}

// nodeLimit denies a TrainJob if its number of nodes is below 1 or above the limit of the runtime. Up to version 2.3,
// Trainer itself accepts any number of nodes.
func nodeLimit(job Job, runtime Runtime) field.ErrorList {
	if job.Nodes == nil || *job.Nodes >= 1 && *job.Nodes <= runtime.MaxNodes {
		return nil
	}
	return newViolation(trainerPath.Child("numNodes"), "want 1 to %d as the number of nodes (the limit of runtime %s), got %d", runtime.MaxNodes, message.Quote(job.Runtime.Name), *job.Nodes)
}

// processLimit limits the number of processes per node. If the TrainJob does not set numProcPerNode, Trainer uses
// numProcPerNode of the runtime. In a runtime, the value 1 has a special meaning: on nodes with GPUs, Trainer starts
// one process for each GPU. If the TrainJob does not set numProcPerNode and the runtime sets the value 1, processLimit
// checks how many GPUs the TrainJob requests. This number of GPUs must not exceed runtime.MaxProcPerNode, the maximum
// number of processes per node. In the field numProcPerNode of a TrainJob, processLimit also denies words such as
// "auto", which Trainer 2.1 accepts for runtimes without MPI.
func processLimit(job Job, runtime Runtime) field.ErrorList {
	path := trainerPath.Child("numProcPerNode")
	want := fmt.Sprintf("want 1 to %d as the number of processes per node (the limit of runtime %s)", runtime.MaxProcPerNode, message.Quote(job.Runtime.Name))
	if job.Processes == nil {
		processes := largerAmount(job, func(amounts map[string]resource.Quantity) resource.Quantity {
			return defaultProcesses(amounts, runtime)
		})
		if processes.CmpInt64(runtime.MaxProcPerNode) > 0 {
			return newViolation(path, "%s, got no number, so Trainer starts %s processes, one for each GPU: write a number", want, processes.String())
		}
		return nil
	}
	if n := int64(job.Processes.IntValue()); job.Processes.Type == intstr.String || n < 1 || n > runtime.MaxProcPerNode {
		return newViolation(path, "%s, got %s", want, printableName(job.Processes.String()))
	}
	return nil
}

// defaultProcesses returns the number of processes that Trainer derives from the GPUs of a TrainJob. If
// numProcPerNode of the runtime is 1, Trainer starts one process for each GPU. Otherwise, Trainer ignores the GPUs,
// and the result is 0.
func defaultProcesses(amounts map[string]resource.Quantity, runtime Runtime) resource.Quantity {
	var most resource.Quantity
	for name, amount := range amounts {
		if runtime.NumProcPerNode == 1 && strings.Contains(strings.ToLower(name), "gpu") && amount.Cmp(most) > 0 {
			most = amount
		}
	}
	return most
}

func gpuLimit(job Job, runtime Runtime) field.ErrorList {
	got := largerAmount(job, func(amounts map[string]resource.Quantity) resource.Quantity {
		return countGPUs(amounts, runtime, job.Replaces != "")
	})
	if got.CmpInt64(runtime.MaxGPUsPerNode) <= 0 {
		return nil
	}
	return newViolation(trainerPath.Child("resourcesPerNode"), "want at most %d GPUs per node (the limit of runtime %s), got %s",
		runtime.MaxGPUsPerNode, message.Quote(job.Runtime.Name), got.String())
}

// gpuNames matches the names of resources that are GPUs or slices of GPUs.
var gpuNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)gpu|^nvidia\.com/mig-`) })

// countGPUs counts the GPUs of a node. If the argument "replaces" is true, the resources of the TrainJob replace all
// GPUs of the runtime, as in Trainer before version 2.3. If "replaces" is false, countGPUs selects one amount for each
// GPU resource. If the TrainJob sets the amount of the resource, countGPUs selects this amount. Otherwise, countGPUs
// selects the amount of the runtime. The result is the sum of the selected amounts.
func countGPUs(amounts map[string]resource.Quantity, runtime Runtime, replaces bool) resource.Quantity {
	var sum resource.Quantity
	for name, amount := range amounts {
		if gpuNames().MatchString(name) {
			sum.Add(amount)
		}
	}
	for name, count := range runtime.GPUs {
		if _, set := amounts[name]; !set && !replaces {
			sum.Add(*resource.NewQuantity(count, resource.DecimalSI))
		}
	}
	return sum
}

// largerAmount calls a function twice: once with the limits of the TrainJob, and once with the requests. largerAmount
// then returns the larger of the two results. The second argument, which has the name "of", is this function. If guard
// cannot parse an amount of the TrainJob, largerAmount returns 0.
func largerAmount(job Job, of func(map[string]resource.Quantity) resource.Quantity) resource.Quantity {
	if job.UnknownAmounts {
		return resource.Quantity{}
	}
	limits, requests := of(job.Limits), of(job.Requests)
	if limits.Cmp(requests) > 0 {
		return limits
	}
	return requests
}

// missingResources denies a TrainJob that leaves out CPU or memory, if the runtime sets this resource. The rule applies
// only with Trainer versions before 2.3, and only if the TrainJob sets limits or requests. Trainer then drops all
// resources of the runtime's main containers, so these containers would have no request for the missing resource. If a
// cluster node runs out of memory, Kubernetes first evicts pods that use more memory than they request. A ResourceQuota
// that limits the missing resource refuses pods in which a container has no request for this resource.
func missingResources(job Job, runtime Runtime) field.ErrorList {
	if job.Replaces == "" {
		return nil
	}
	var missing []string
	for _, name := range basicResources {
		amount, given := runtime.Resources[name]
		_, limited := job.Limits[name]
		if _, requested := job.Requests[name]; given && !limited && !requested {
			missing = append(missing, name+": "+amount)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return newViolation(trainerPath.Child("resourcesPerNode"), "Trainer %s drops the resources of the runtime if a TrainJob sets its own: set the missing resources too, for example as in the runtime (%s)",
		job.Replaces, strings.Join(missing, ", "))
}

// zeroAmount denies amounts of 0 for CPU and memory. Kubernetes treats a limit of 0 as no limit, and a request of
// 0 uses no quota of a ResourceQuota.
func zeroAmount(job Job, _ Parameters) field.ErrorList {
	if job.UnknownAmounts {
		return nil
	}
	var errs field.ErrorList
	for _, each := range []struct {
		key     string
		amounts map[string]resource.Quantity
	}{{"limits", job.Limits}, {"requests", job.Requests}} {
		for _, name := range basicResources {
			if amount, given := each.amounts[name]; given && amount.IsZero() {
				path := trainerPath.Child("resourcesPerNode", each.key).Key(name)
				errs = append(errs, field.Forbidden(path, "want more than 0, or leave it out to get the amount of the runtime"))
			}
		}
	}
	return errs
}

// rdmaNames matches the names of RDMA devices, such as rdma/hca_shared_devices_a, openshift.io/mlnx_ib
// and vpc.amazonaws.com/efa.
var rdmaNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)rdma|infiniband|(^|[/_.-])(ib|hca|efa|roce)([0-9_.-]|$)`)
})

// unencryptedRDMA denies RDMA devices if the network is encrypted. MPI would send data through the RDMA devices, and
// the encryption of the pod network does not encrypt RDMA traffic.
func unencryptedRDMA(job Job, p Parameters) field.ErrorList {
	if p.Encryption == "none" {
		return nil
	}
	names := slices.Concat(slices.Collect(maps.Keys(job.Limits)), slices.Collect(maps.Keys(job.Requests)))
	slices.Sort(names)
	for _, name := range names {
		if rdmaNames().MatchString(name) {
			return newViolation(trainerPath.Child("resourcesPerNode"), "%s bypasses the pod network, which %s encrypts here: leave it out", printableName(name), p.Encryption)
		}
	}
	return nil
}
