package trainjob

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/generator/internal/resources"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// Rules about amounts of resources.
var (
	requestOverLimit = problem.Rule{Name: "request-over-limit", Doc: "The requests of a TrainJob do not exceed its limits, and its requests for devices and huge pages equal the limits"}
	missingUnit      = problem.Rule{Name: "missing-unit", Doc: "An amount of memory or of ephemeral storage has a unit such as Mi or Gi"}
)

// minBytes is the smallest plausible amount of memory and of ephemeral storage. No container can start with less
// memory than minBytes.
var minBytes = resource.MustParse("1Mi")

// findMissingUnits reports amounts of memory and of ephemeral storage that are below minBytes, because the unit is
// probably missing. findMissingUnits ignores amounts of 0. If the amount of memory is 0, the TrainJob breaks another
// rule, zero-amount.
func findMissingUnits(job guard.Job) []violation {
	var found []violation
	for _, name := range []string{"memory", "ephemeral-storage"} {
		for _, field := range []string{"limits", "requests"} {
			amount := amountsIn(job, field)[name]
			if !amount.IsZero() && amount.Cmp(minBytes) < 0 {
				found = append(found, violation{missingUnit, resourcePath(field, name),
					fmt.Sprintf("want an amount of at least %s, got %s: add a unit, as in 512Mi or 16Gi", minBytes.String(), amount.String())})
				break // report only the limit; a request without a unit is probably the same mistake
			}
		}
	}
	return found
}

// findRefusedAmounts reports each resource whose request Kubernetes would refuse. A request must not exceed the limit
// of the same resource. If the resource is a device or huge pages, the request must equal the limit. Source:
// Kubernetes, ValidateContainerResourceRequirements.
//
// Since Trainer 2.3, the runtime supplies each amount that the TrainJob does not set. For example, a TrainJob that sets
// only a limit keeps the request of the runtime. The argument "runtime" contains only the runtime's amounts of CPU, memory
// and GPUs. The argument "pods" is the result of adjustedPods, which contains the limits of all resources, including RDMA
// devices. If the platform does not contain the runtime, "pods" is empty.
func findRefusedAmounts(job guard.Job, runtime guard.Runtime, pods []map[string]resource.Quantity) []violation {
	if job.UnknownAmounts {
		return nil
	}
	var found []violation
	for _, name := range resourcesOf(job) {
		if lacksLimit(job, name, pods) {
			found = append(found, violation{requestOverLimit, resourcePath("requests", name),
				"the pods request this resource and have no limit for it, so Kubernetes refuses them: write the same amount in limits"})
			continue
		}
		limit, limited := effectiveAmount(job.Limits, job, runtime, name)
		request, requested := effectiveAmount(job.Requests, job, runtime, name)
		if !limited || !requested || request.Cmp(limit) <= 0 && (resources.CanOvercommit(name) || request.Cmp(limit) == 0) {
			continue
		}
		field, remedy := describeRemedy(job, name)
		found = append(found, violation{requestOverLimit, resourcePath(field, name),
			fmt.Sprintf("the pods request %s and have the limit %s, so Kubernetes refuses them: %s", request.String(), limit.String(), remedy)})
	}
	return found
}

// lacksLimit returns true if a TrainJob requests a device or huge pages, and at least one of its pods would have no
// limit for this resource.
func lacksLimit(job guard.Job, name string, pods []map[string]resource.Quantity) bool {
	_, requested := job.Requests[name]
	_, limited := job.Limits[name]
	if !requested || limited || resources.CanOvercommit(name) {
		return false
	}
	isMissing := func(limits map[string]resource.Quantity) bool { _, has := limits[name]; return !has }
	return job.Replaces != "" || slices.ContainsFunc(pods, isMissing)
}

// describeRemedy returns a text that tells the user how to correct the amounts of a resource. The result "field" is
// the field that findRefusedAmounts reports: "limits" or "requests".
func describeRemedy(job guard.Job, name string) (field, remedy string) {
	if _, set := job.Requests[name]; !set {
		return "limits", "set this resource in requests too, to replace the request of the runtime"
	}
	if _, set := job.Limits[name]; !set {
		return "requests", "set this resource in limits too, to replace the limit of the runtime"
	}
	if resources.CanOvercommit(name) {
		return "requests", "raise the limit, or lower the request"
	}
	return "requests", "set the same amount in requests and limits"
}

// resourcesOf returns the names of the resources that a TrainJob sets, in alphabetical order.
func resourcesOf(job guard.Job) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(job.Limits)), maps.Keys(job.Requests))
	slices.Sort(names)
	return slices.Compact(names)
}

// amountsIn returns the limits or the requests of a TrainJob. The argument "field" is "limits" or "requests".
func amountsIn(job guard.Job, field string) map[string]resource.Quantity {
	if field == "limits" {
		return job.Limits
	}
	return job.Requests
}

// effectiveAmount returns the limit or the request of a resource in a pod of the TrainJob. The argument "own" holds the
// TrainJob's limits or requests. If "own" does not contain the resource, the result is the amount in the runtime. In a
// runtime, the limit and the request of a resource are equal. If job.Replaces is set, effectiveAmount ignores the
// amounts of the runtime, as Trainer does. The result "ok" is false if no amount is found.
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
