package trainjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

var launcherOnlyDevice = problem.Rule{Name: "launcher-only-device", Doc: "If the launcher runs no ranks, a TrainJob requests no devices for it, because the nodes do not get them"}

const resourcesPath = "spec.trainer.resourcesPerNode"

// violation is a value of a TrainJob that breaks a rule.
type violation struct {
	rule          problem.Rule
	path, message string
}

// findMisspellings reports each misspelled device of a TrainJob.
func findMisspellings(job guard.Job) []violation {
	var found []violation
	for _, name := range devicesOf(job) {
		if complaint := capacity.DescribeMisspelling(name); complaint != "" {
			found = append(found, violation{capacity.MisspelledDevice, devicePath(job, name), complaint})
		}
	}
	return found
}

// findLostDevices reports each device that only the launcher would get, although ranks run only on the nodes. If the
// launcher of the runtime has such a device, the TrainJob only changes the amount, and findLostDevices reports nothing.
// Source: Trainer, jobset/builder.go.
func findLostDevices(job guard.Job, r runtimeObject) []violation {
	var found []violation
	for _, name := range devicesOf(job) {
		if _, has := r.launcher[name]; r.launcherIsNode || has {
			continue
		}
		found = append(found, violation{launcherOnlyDevice, devicePath(job, name), fmt.Sprintf(
			"only the launcher would get this device, and no ranks run there, because runtime %s sets runLauncherAsNode: false: leave it out, or use a runtime whose nodes have the device", job.Runtime.Name)})
	}
	return found
}

// devicesOf returns the names of the devices in the limits and requests of a TrainJob, in alphabetical order.
func devicesOf(job guard.Job) []string {
	names := slices.Concat(slices.Collect(maps.Keys(job.Limits)), slices.Collect(maps.Keys(job.Requests)))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !strings.Contains(name, "/") })
}

// devicePath returns the path of the limit of a device or, without a limit, the path of the request. An unusual name is in
// quotes, because it can contain line breaks.
func devicePath(job guard.Job, name string) string {
	field := ".limits"
	if _, limited := job.Limits[name]; !limited {
		field = ".requests"
	}
	if !message.Plain(strings.ReplaceAll(name, ".", "-")) {
		name = message.Quote(name)
	}
	return resourcesPath + field + "[" + name + "]"
}
