package capacity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trainyard/trainyard/generator/internal/resources"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/problem"
)

// MisspelledDevice is the rule about the names of devices in documents and TrainJobs.
var MisspelledDevice = problem.Rule{Name: "misspelled-device", Doc: "A device name must not be a misspelling of a common name, such as nvidia.com/gpu, or of a common prefix, such as rdma/"}

// Misspellings reports each misspelled name of a device in a document, and returns the paths of
// these names. The document may lack required values.
func Misspellings(d *load.Document, document map[string]any) (found problem.List, paths [][]string) {
	for _, path := range slices.Concat(devicePaths(document), queuePaths(document)) {
		amounts, _ := values.Lookup(document, path)
		named, _ := amounts.(map[string]any)
		for _, name := range devicesIn(named) {
			if complaint := resources.DescribeMisspelling(name); complaint != "" {
				device := values.Extend(path, name)
				paths = append(paths, device)
				found = append(found, problem.Problem{Position: d.Root.LocateKey(device...), Rule: MisspelledDevice, Path: problem.Path(device), Message: complaint})
			}
		}
	}
	return found, paths
}

// devicePaths returns the paths at which runtimes and tenants can name devices: the resources of each runtime and of its
// launcher, and each tenant's quota.
func devicePaths(document map[string]any) [][]string {
	var paths [][]string
	for _, name := range slices.Sorted(maps.Keys(values.Mapping(document, "spec", "runtimes"))) {
		runtime := []string{"spec", "runtimes", name}
		paths = append(paths, values.Extend(runtime, "resources"), append(slices.Clone(runtime), "launcher", "resources"))
	}
	for _, name := range slices.Sorted(maps.Keys(values.Mapping(document, "spec", "tenants"))) {
		paths = append(paths, []string{"spec", "tenants", name, "quota"})
	}
	return paths
}

// queuePaths returns the paths of three settings of ClusterQueues: quotas, limits on borrowing, and limits
// on lending.
func queuePaths(document map[string]any) [][]string {
	var paths [][]string
	queues := values.Mapping(document, "spec", "queues", "clusterQueues")
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		groups, _ := values.Mapping(queues, name)["groups"].([]any)
		for g, group := range groups {
			flavors, _ := values.Child(group, "flavors")
			list, _ := flavors.([]any)
			for f := range list {
				flavor := []string{"spec", "queues", "clusterQueues", name, "groups", fmt.Sprint(g), "flavors", fmt.Sprint(f)}
				paths = append(paths, values.Extend(flavor, "quota"), values.Extend(flavor, "borrowing"), values.Extend(flavor, "lending"))
			}
		}
	}
	return paths
}
