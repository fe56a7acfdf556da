package trainjob

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

var requestOverLimit = problem.Rule{Name: "request-over-limit", Doc: "The resources of a TrainJob and its runtime together do not request more than their limit"}

// describeOverLimit finds the first resource that pods of the TrainJob would request above its limit, and returns the path
// of the value in the TrainJob and a message. Both are empty if there is no such resource. Kubernetes refuses such pods.
// Trainer 2.3 merges limits and requests separately. A TrainJob that sets only a limit therefore keeps the runtime's request.
func describeOverLimit(job guard.Job, runtime guard.Runtime) (path, text string) {
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
		if !limited || !requested || request.Cmp(limit) <= 0 {
			continue
		}
		field, remedy := "requests", "raise the limit, or lower the request"
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
