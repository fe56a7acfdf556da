package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/capacity/sizing"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"
)

// Rules about the names of devices.
var (
	MisspelledDevice = problem.Rule{Name: "misspelled-device", Doc: "The name of a device is not a misspelling of a common name such as nvidia.com/gpu"}
	UnusedQuota      = problem.Rule{Name: "unused-device-quota", Doc: "A runtime of the tenant requests each device in the tenant's quota"}
	UnlimitedDevice  = problem.Rule{Name: "unlimited-device", Doc: "The quota of a tenant limits each device that the tenant's runtimes request"}
)

// commonDevices lists the names that the device plugins of the large vendors register.
var commonDevices = []string{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", "aws.amazon.com/neuron"}

// checkSpellings reports each misspelled device of the document.
func (c *comparison) checkSpellings() {
	for _, name := range slices.Sorted(maps.Keys(c.demands)) {
		for _, field := range [][]string{{"resources"}, {"launcher", "resources"}} {
			path := slices.Concat([]string{"spec", "runtimes", name}, field)
			c.checkSpelling(values.Mapping(c.values, path...), path)
		}
	}
	tenants := values.Mapping(c.values, "spec", "tenants")
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		c.checkSpelling(values.Mapping(tenants, name, "quota"), []string{"spec", "tenants", name, "quota"})
	}
	queues := values.Mapping(c.values, "spec", "queues", "clusterQueues")
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		c.checkQueueDevices([]string{"spec", "queues", "clusterQueues", name}, values.Mapping(queues, name))
	}
}

func (c *comparison) checkQueueDevices(path []string, queue map[string]any) {
	for g, group := range values.Mappings(queue, "groups") {
		for f, flavor := range values.Mappings(group, "flavors") {
			quota := slices.Concat(path, []string{"groups", fmt.Sprint(g), "flavors", fmt.Sprint(f), "quota"})
			c.checkSpelling(values.Mapping(flavor, "quota"), quota)
		}
	}
}

// checkSpelling reports each device whose name is a misspelling of a common name.
func (c *comparison) checkSpelling(amounts map[string]any, path []string) {
	for _, name := range devicesIn(amounts) {
		if meant := commonDevice(name); meant != "" {
			c.report(&c.Problems, values.Extend(path, name), MisspelledDevice, fmt.Sprintf("unknown device: did you mean %s?", message.Quote(meant)))
		}
	}
}

// commonDevice returns the common name that an author has probably misspelled, or "". Vendors have many names that differ
// by a few letters, such as gpu and npu, so commonDevice accepts only the errors below as misspellings.
func commonDevice(name string) string {
	domain, device, _ := strings.Cut(name, "/")
	for _, common := range commonDevices {
		ownDomain, own, _ := strings.Cut(common, "/")
		switch {
		case name == common:
			return ""
		case domain == ownDomain && isMisspelled(device, own),
			device == own && len(ownDomain) >= minDomain && message.Typos(domain, ownDomain) == 1:
			return common
		}
	}
	return ""
}

// minDomain is the minimum length of a domain in which one typing error counts as a misspelling. Shorter domains, such
// as amd.com, differ by one letter from domains of other vendors.
const minDomain = 8

// isMisspelled reports whether a word has the letters of another word in another order or in another case, repeats one of
// them, or has an additional s at the end.
func isMisspelled(word, meant string) bool {
	word = strings.ToLower(word)
	return word == meant+"s" || sortLetters(word) == sortLetters(meant) || string(slices.Compact([]byte(word))) == meant
}

func sortLetters(word string) string {
	letters := []byte(word)
	slices.Sort(letters)
	return string(letters)
}

// checkTenantDevices reports each device of the quota that no runtime of the tenant requests, and each device that a runtime
// requests but the quota does not limit. A tenant with queues needs no quota for devices, because Kueue limits them.
func (c *comparison) checkTenantDevices(name string, tenant map[string]any) {
	quota := values.Mapping(tenant, "quota")
	path := []string{"spec", "tenants", name, "quota"}
	requested := c.requestedDevices(tenant)
	for _, device := range devicesIn(quota) {
		_, used := requested[device]
		if used || len(requested) == 0 || fmt.Sprint(quota[device]) == "0" {
			continue
		}
		c.report(&c.Notes, values.Extend(path, device), UnusedQuota, fmt.Sprintf("no runtime of this tenant requests this device; its runtimes request %s", strings.Join(slices.Sorted(maps.Keys(requested)), ", ")))
	}
	if len(c.queues) > 0 && len(values.Mapping(tenant, "queues")) > 0 || !limitsPods(quota) {
		return
	}
	for _, device := range slices.Sorted(maps.Keys(requested)) {
		if _, limited := quota[device]; !limited {
			c.report(&c.Notes, path, UnlimitedDevice, fmt.Sprintf("does not limit %[1]s, which runtime %[2]s requests, so TrainJobs of this tenant can use every such device of the cluster: add %[1]s", device, requested[device]))
		}
	}
}

// limitsPods reports whether a quota limits resources of pods.
func limitsPods(quota map[string]any) bool {
	for name := range quota {
		if name != "trainJobs" {
			return true
		}
	}
	return false
}

// requestedDevices returns, for each device that runtimes of the tenant request, the first runtime that requests it.
func (c *comparison) requestedDevices(tenant map[string]any) map[string]string {
	requested := map[string]string{}
	runtimes, _ := tenant["runtimes"].([]any)
	for _, item := range runtimes {
		runtime, _ := item.(string)
		job := c.Jobs[runtime]
		for _, amounts := range []sizing.Amounts{job.Launcher, job.Node} {
			for device := range amounts {
				if strings.Contains(device, "/") && requested[device] == "" {
					requested[device] = runtime
				}
			}
		}
	}
	return requested
}

// devicesIn returns the names of devices in alphabetical order. Only names of devices contain "/".
func devicesIn(amounts map[string]any) []string {
	var names []string
	for name := range amounts {
		if strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
