package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/capacity/sizing"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"
)

// The rules UnusedQuota and UnlimitedDevice compare the devices in a tenant's quota with the
// devices that the tenant's runtimes request.
var (
	UnusedQuota     = problem.Rule{Name: "unused-device-quota", Doc: "Each device in a tenant's quota is requested by a runtime of the tenant"}
	UnlimitedDevice = problem.Rule{Name: "unlimited-device", Doc: "The quota of a tenant limits each device that the tenant's runtimes request"}
)

// checkTenantDevices compares the devices in a tenant's quota with the devices that the tenant's runtimes request. If
// the quota contains a device that none of these runtimes requests, the method reports this device. For the exceptions,
// see checkUnusedQuota. If one of these runtimes requests a device that is missing from the quota, the method reports
// this device too. In two cases, the method does not report a missing device. In the first case, target.gang is kueue,
// the document declares ClusterQueues, and the tenant has queues. Kueue then limits the devices of the tenant. In the
// second case, the tenant has no quota, or its quota limits only the number of TrainJobs.
func (c *comparison) checkTenantDevices(name string, tenant map[string]any) {
	quota := values.Mapping(tenant, "quota")
	path := []string{"spec", "tenants", name, "quota"}
	requested := c.requestedDevices(tenant)
	c.checkUnusedQuota(path, tenant, requested)
	if len(c.queues) > 0 && len(values.Mapping(tenant, "queues")) > 0 || !limitsPods(quota) {
		return
	}
	for _, device := range slices.Sorted(maps.Keys(requested)) {
		if _, limited := quota[device]; !limited {
			c.report(&c.Notes, path, UnlimitedDevice, fmt.Sprintf("the quota does not limit the device %[1]s, which runtime %[2]q requests, so TrainJobs of this tenant can use all devices of this type in the cluster: add %[1]s to the quota", device, requested[device]))
		}
	}
}

// checkUnusedQuota reports each device of the quota that no runtime of the tenant requests. It ignores a quota of 0,
// which forbids a device on purpose. It ignores a tenant that lists no runtimes. It also ignores a tenant that can
// create its own runtimes, because the document does not contain these runtimes. Each message names the device. A
// report merges many equal messages into one. Without the name of the device, a report would also merge messages about
// different devices.
func (c *comparison) checkUnusedQuota(path []string, tenant map[string]any, requested map[string]string) {
	runtimes, _ := tenant["runtimes"].([]any)
	grants, _ := tenant["grants"].([]any)
	if len(runtimes) == 0 || slices.Contains(grants, any("manage-runtimes")) {
		return
	}
	others := "they request " + strings.Join(slices.Sorted(maps.Keys(requested)), ", ")
	if len(requested) == 0 {
		others = "they request no devices"
	}
	quota := values.Mapping(tenant, "quota")
	for _, device := range devicesIn(quota) {
		if _, used := requested[device]; !used && fmt.Sprint(quota[device]) != "0" {
			c.report(&c.Notes, values.Extend(path, device), UnusedQuota, "the runtimes of this tenant do not request "+device+": "+others)
		}
	}
}

// limitsPods reports whether a quota has any key other than trainJobs. The key trainJobs limits only the number of
// TrainJobs.
func limitsPods(quota map[string]any) bool {
	for name := range quota {
		if name != "trainJobs" {
			return true
		}
	}
	return false
}

// requestedDevices returns a map. The keys are the devices that the tenant's runtimes request. Each value is the
// name of the first runtime that requests the device.
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

// devicesIn returns the names of the devices in "amounts", in alphabetical order. It recognizes the name of a device by
// the "/", which no other resource name contains.
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
