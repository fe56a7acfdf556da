package trainjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

var requestOverLimit = problem.Rule{Name: "request-over-limit", Doc: "A TrainJob requests no more than its limits, and for devices exactly the limit"}

// describeRefusedAmount looks for a resource whose request Kubernetes would refuse. A request may not exceed the limit, and
// the request of a device must equal its limit (Kubernetes, ValidateContainerResourceRequirements). describeRefusedAmount
// returns the path of the first such value in the TrainJob and a message, or two empty strings.
//
// With Trainer 2.3, pods get each amount that the TrainJob does not set from the runtime. For example, a TrainJob that sets
// only a limit keeps the request of the runtime. vet knows only CPU, memory and GPUs of a runtime. For any other device, vet
// reports a difference only if the TrainJob sets both the limit and the request.
func describeRefusedAmount(job guard.Job, runtime guard.Runtime) (path, text string) {
	if job.UnknownAmounts {
		return "", ""
	}
	own := maps.Clone(job.Limits)
	if own == nil {
		own = map[string]resource.Quantity{}
	}
	maps.Copy(own, job.Requests)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		limit, limited := effectiveAmount(job.Limits, job, runtime, name)
		request, requested := effectiveAmount(job.Requests, job, runtime, name)
		if !limited || !requested || request.Cmp(limit) <= 0 && (!isDevice(name) || request.Cmp(limit) == 0) {
			continue
		}
		field, remedy := "requests", "set the same amount in requests and limits"
		if !isDevice(name) {
			remedy = "raise the limit, or lower the request"
		}
		if _, set := job.Limits[name]; !set {
			remedy = "write limits too, because Trainer keeps the limit of the runtime otherwise"
		}
		if _, set := job.Requests[name]; !set {
			field, remedy = "limits", "write requests too, because Trainer keeps the request of the runtime otherwise"
		}
		return fmt.Sprintf("spec.trainer.resourcesPerNode.%s[%s]", field, name),
			fmt.Sprintf("the pods request %s and have the limit %s, so Kubernetes refuses them: %s", request.String(), limit.String(), remedy)
	}
	return "", ""
}

// isDevice reports whether a resource is an extended resource, such as a GPU, or consists of huge pages. Containers cannot
// overcommit these resources, so the request must equal the limit.
func isDevice(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/") || strings.HasPrefix(name, "hugepages-")
}

// effectiveAmount returns the amount of a resource in a pod of the TrainJob: the amount that the TrainJob sets, or else the
// amount of the runtime, whose requests equal its limits. The result "ok" is false if neither sets an amount.
func effectiveAmount(own map[string]resource.Quantity, job guard.Job, runtime guard.Runtime, name string) (amount resource.Quantity, ok bool) {
	if amount, ok = own[name]; ok || job.Replaces != "" {
		return amount, ok
	}
	if count, ok := runtime.GPUs[name]; ok {
		return *resource.NewQuantity(count, resource.DecimalSI), true
	}
	amount, err := resource.ParseQuantity(runtime.Resources[name])
	return amount, err == nil
}
