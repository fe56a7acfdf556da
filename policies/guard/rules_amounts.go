package guard

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// gpuNames are what a resource that is a GPU, or a slice of one, is called.
var gpuNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)gpu|^nvidia\.com/mig-`) })

// processesAreFew: Trainer 2.1 takes words too, for runtimes that are not MPI. Where nobody says a
// number, it may be that of the GPUs.
func processesAreFew(job Job, p Parameters) field.ErrorList {
	runtime, known := p.runtime(job.Runtime)
	if !known {
		return nil
	}
	path := trainerPath.Child("numProcPerNode")
	want := fmt.Sprintf("want 1 to %d, which is what %s allows", runtime.MaxProcPerNode, shown(job.Runtime.Name))
	if job.Processes == nil {
		counted := most(job, func(amounts map[string]resource.Quantity) resource.Quantity { return counted(amounts, runtime) })
		if counted.CmpInt64(runtime.MaxProcPerNode) > 0 {
			return forbids(path, "%s, got none, for which Trainer takes the number of GPUs, %s: write one", want, counted.String())
		}
		return nil
	}
	if n := int64(job.Processes.IntValue()); job.Processes.Type == intstr.String || n < 1 || n > runtime.MaxProcPerNode {
		return forbids(path, "%s, got %s", want, shown(job.Processes.String()))
	}
	return nil
}

// counted is how many processes Trainer starts by itself, where the runtime says 1: one for each GPU.
func counted(amounts map[string]resource.Quantity, runtime Runtime) resource.Quantity {
	var highest resource.Quantity
	for name, amount := range amounts {
		if runtime.NumProcPerNode == 1 && strings.Contains(strings.ToLower(name), "gpu") && amount.Cmp(highest) > 0 {
			highest = amount
		}
	}
	return highest
}

// gpusAreFew: a job's GPUs replace those of the runtime of the same name, and join all others; before Trainer 2.3
// they replace all.
func gpusAreFew(job Job, p Parameters) field.ErrorList {
	runtime, known := p.runtime(job.Runtime)
	if !known {
		return nil
	}
	got := most(job, func(amounts map[string]resource.Quantity) resource.Quantity {
		return gpus(amounts, runtime, job.Replaces != "")
	})
	if got.CmpInt64(runtime.MaxGPUsPerNode) <= 0 {
		return nil
	}
	return forbids(trainerPath.Child("resourcesPerNode"), "want at most %d GPUs per node, which is what %s allows, got %s",
		runtime.MaxGPUsPerNode, shown(job.Runtime.Name), got.String())
}

func gpus(amounts map[string]resource.Quantity, runtime Runtime, replaced bool) resource.Quantity {
	var sum resource.Quantity
	for name, amount := range amounts {
		if gpuNames().MatchString(name) && amount.Sign() > 0 {
			sum.Add(amount)
		}
	}
	for name, count := range runtime.GPUs {
		if _, named := amounts[name]; !named && !replaced {
			sum.Add(*resource.NewQuantity(count, resource.DecimalSI))
		}
	}
	return sum
}

// most is the higher of what requests and limits come to.
func most(job Job, of func(map[string]resource.Quantity) resource.Quantity) resource.Quantity {
	limits, requests := of(job.Limits), of(job.Requests)
	if limits.Cmp(requests) > 0 {
		return limits
	}
	return requests
}
