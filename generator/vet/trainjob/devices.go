package trainjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/generator/internal/resources"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// Rules about the names and numbers of devices.
var (
	invalidResource    = problem.Rule{Name: "invalid-resource-name", Doc: "Each resource name in a TrainJob is valid for a container"}
	fractionalDevice   = problem.Rule{Name: "fractional-device", Doc: "A TrainJob requests whole devices"}
	launcherOnlyDevice = problem.Rule{Name: "launcher-only-device", Doc: "If no ranks run in the launcher, a TrainJob must not request a device that the launcher of the runtime lacks, because only the launcher would get this device"}
	noGPUs             = problem.Rule{Name: "no-gpus", Doc: "A TrainJob does not remove all GPUs of its runtime"}
)

const resourcesPath = "spec.trainer.resourcesPerNode"

// violation describes one value that breaks a rule.
type violation struct {
	rule          problem.Rule
	path, message string
}

// findWrongResources reports resources with an invalid or misspelled name, and devices whose amount is not an integer.
func findWrongResources(job guard.Job) []violation {
	var found []violation
	for _, name := range resourcesOf(job) {
		if complaint := resources.DescribeInvalid(name); complaint != "" {
			found = append(found, violation{invalidResource, devicePath(job, name), complaint})
		} else if complaint := resources.DescribeMisspelling(name); complaint != "" {
			found = append(found, violation{capacity.MisspelledDevice, devicePath(job, name), complaint})
		} else if field, amount := findFraction(job, name); field != "" {
			found = append(found, violation{fractionalDevice, resourcePath(field, name), fmt.Sprintf("want an integer, got %s: Kubernetes would refuse the pods", amount.String())})
		}
	}
	return found
}

// findFraction first checks the limit of a device in a TrainJob, and then the request. findFraction returns the first
// of these two amounts that is not an integer. The string "field" in the result says which amount this is: "limits" or
// "requests". If the limit and the request are integers, or if the resource is not a device, this string is empty.
func findFraction(job guard.Job, name string) (field string, amount resource.Quantity) {
	for _, field := range []string{"limits", "requests"} {
		amount := amountsIn(job, field)[name]
		rounded := amount.DeepCopy()
		if isWhole := rounded.RoundUp(0); resources.IsDevice(name) && !isWhole {
			return field, amount
		}
	}
	return "", amount
}

// findLostDevices reports each device that a TrainJob adds to a launcher in which no ranks run. Trainer adds such a
// device only to the launcher, and not to the nodes. If the launcher of the runtime already has the device, the
// TrainJob changes only the amount, and findLostDevices does not report the device. Source: Trainer, jobset/builder.go.
func findLostDevices(job guard.Job, r runtimeObject) []violation {
	var found []violation
	for _, name := range devicesOf(job) {
		if _, has := r.launcher[name]; r.launcherIsNode || has {
			continue
		}
		found = append(found, violation{launcherOnlyDevice, devicePath(job, name), fmt.Sprintf(
			"only the launcher would get this device, but no ranks run there, because runtime %q sets runLauncherAsNode to false: leave the device out, or use a runtime whose nodes have the device", job.Runtime.Name)})
	}
	return found
}

// findDroppedGPUs reports a TrainJob that removes all GPUs of its runtime. The report is a note, because the user may want
// to remove the GPUs.
func findDroppedGPUs(job guard.Job, runtime guard.Runtime) []violation {
	own := map[string]resource.Quantity{}
	for name, count := range runtime.GPUs {
		own[name] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	if job.UnknownAmounts || countGPUs(own) == 0 || countGPUs(limitsWith(job, own)) > 0 || countGPUs(job.Requests) > 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, set := job.Limits[name]; set {
			return []violation{{noGPUs, resourcePath("limits", name), "the nodes get no GPUs, although the runtime has some: leave this limit out, or use a runtime without GPUs"}}
		}
	}
	return []violation{{noGPUs, resourcesPath, fmt.Sprintf("the nodes get no GPUs, because Trainer %s drops the resources of the runtime if a TrainJob sets resources: request the GPUs in the TrainJob too, or use a runtime without GPUs", job.Replaces)}}
}

// devicesOf returns the names of the devices in the limits and requests of a TrainJob, in alphabetical order.
func devicesOf(job guard.Job) []string {
	return slices.DeleteFunc(resourcesOf(job), func(name string) bool { return !strings.Contains(name, "/") })
}

// devicePath returns the path of a resource's limit. If the TrainJob does not set a limit for the resource, the result is
// the path of the request.
func devicePath(job guard.Job, name string) string {
	if _, limited := job.Limits[name]; limited {
		return resourcePath("limits", name)
	}
	return resourcePath("requests", name)
}

// resourcePath returns the path of a limit or a request in a TrainJob, such as
// spec.trainer.resourcesPerNode.limits[memory]. The argument "field" is "limits" or "requests". resourcePath puts an
// unusual resource name in quotes, because the name can contain line breaks.
func resourcePath(field, name string) string {
	if !message.Plain(strings.ReplaceAll(name, ".", "-")) {
		name = message.Quote(name)
	}
	return resourcesPath + "." + field + "[" + name + "]"
}

// withoutRepetitions returns the first violation at each path, so that each value is reported once.
func withoutRepetitions(all []violation) []violation {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v violation) bool {
		repeated := seen[v.path]
		seen[v.path] = true
		return repeated
	})
}
