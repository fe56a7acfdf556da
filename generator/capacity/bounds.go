package capacity

import (
	"maps"
	"slices"

	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// checkBounds returns the bounds of four rules: default-over-limit, more-processes-than-gpus, one-process-many-gpus
// and job-over-quota. A bound consists of a limit and one or more sums of values. No sum may exceed the limit.
func (c *comparison) checkBounds() []object.Bound {
	var bounds []object.Bound
	requested := map[string]map[string][]*object.Sum{} // by runtime and resource
	for _, name := range slices.Sorted(maps.Keys(c.demands)) {
		d, runtime := c.demands[name], []string{"spec", "runtimes", name}
		processes := object.Amount{Path: problem.Path(values.Extend(runtime, "numProcPerNode")), Value: d.Processes.Default}
		bounds = append(bounds, object.Bound{
			Limit: object.Amount{Value: d.Processes.Max}, Sums: []*object.Sum{sumOf(runtime, "numProcPerNode of "+name, processes)},
		})
		if d.Processes.Min > 1 {
			gpus := sumOf(runtime, "the GPUs of "+name, object.Amount{Value: d.Processes.Min})
			bounds = append(bounds, object.Bound{Limit: processes, Sums: []*object.Sum{gpus}})
		}
		requested[name] = d.sumRequests(name, runtime)
	}
	tenants := values.Mapping(c.values, "spec", "tenants")
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		bounds = append(bounds, quotaBounds(name, values.Mapping(tenants, name), requested)...)
	}
	return bounds
}

func sumOf(runtime []string, requester string, amounts ...object.Amount) *object.Sum {
	return &object.Sum{Path: problem.Path(runtime), Requester: requester, Amounts: amounts}
}

// sumRequests returns one or more sums of requests for each resource. If the launcher or the nodes request the
// resource, the first sum adds the requests of the launcher and of one node. Each initializer that requests the
// resource has its own sum, because initializers complete before the launcher and the node start. The smallest
// TrainJob fits into a quota if no sum exceeds the quota.
func (d demand) sumRequests(name string, runtime []string) map[string][]*object.Sum {
	sums := map[string][]*object.Sum{}
	requested := map[string]any{}
	maps.Copy(requested, d.Node)
	maps.Copy(requested, d.Launcher)
	for _, resource := range slices.Sorted(maps.Keys(requested)) {
		shared := slices.Concat(runtime, []string{"resources", resource})
		own := shared
		if slices.Contains(d.LauncherOnly, resource) {
			own = slices.Concat(runtime, []string{"launcher", "resources", resource})
		}
		var amounts []object.Amount
		if launcher, requests := d.Launcher[resource]; requests {
			amounts = append(amounts, object.Amount{Path: problem.Path(own), Value: launcher})
		}
		if adds, requests := d.LauncherAdds[resource]; requests {
			amounts = append(amounts, object.Amount{Value: adds})
		}
		if node, requests := d.Node[resource]; requests {
			amounts = append(amounts, object.Amount{Path: problem.Path(shared), Value: node})
		}
		sums[resource] = append(sums[resource], sumOf(runtime, "the smallest TrainJob of "+name+" (a launcher and a node)", amounts...))
	}
	for _, initializer := range d.Initializers {
		for _, resource := range slices.Sorted(maps.Keys(initializer.Amounts)) {
			sums[resource] = append(sums[resource], sumOf(runtime, "the "+initializer.Name+" of "+name, object.Amount{Value: initializer.Amounts[resource]}))
		}
	}
	return sums
}

func quotaBounds(name string, tenant map[string]any, requested map[string]map[string][]*object.Sum) []object.Bound {
	var bounds []object.Bound
	quota := values.Mapping(tenant, "quota")
	runtimes, _ := tenant["runtimes"].([]any)
	for _, resource := range slices.Sorted(maps.Keys(quota)) {
		var sums []*object.Sum
		for _, runtime := range runtimes {
			key, _ := runtime.(string)
			sums = append(sums, requested[key][resource]...)
		}
		if len(sums) > 0 {
			limit := object.Amount{Path: problem.Path([]string{"spec", "tenants", name, "quota", resource}), Value: quota[resource]}
			bounds = append(bounds, object.Bound{Limit: limit, Sums: sums})
		}
	}
	return bounds
}
