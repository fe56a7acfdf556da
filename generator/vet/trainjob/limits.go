package trainjob

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/generator/capacity/sizing"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

var overCapacity = problem.Rule{Name: "trainjob-over-capacity", Doc: "A TrainJob requests at most the quota of its tenant, and at most the resources that its queue can admit"}

// defaultQueue is the LocalQueue of TrainJobs that name no queue. Source: Kueue, LocalQueue defaulting.
const defaultQueue = "default"

// describeShortage describes the first limit of the tenant that a TrainJob would exceed if it were the only job. The
// result is empty if the TrainJob exceeds no limit, or if demandOf cannot determine its requests. The argument
// "unlimited" is true if the cluster does not enforce the maximum number of nodes.
func describeShortage(tenant string, c *capacity.Result, job guard.Job, unlimited bool) string {
	demand, nodes, known := demandOf(c, job, unlimited)
	if !known {
		return ""
	}
	limits := c.Tenants[tenant]
	for _, s := range demand.Shortages(limits.Quota, nodes) {
		return fmt.Sprintf("asks for %s, and the quota of tenant %q has %s, so the TrainJob would wait forever",
			sizing.Format(s.Resource, s.Requested), tenant, sizing.Format(s.Resource, s.Available))
	}
	queue, ok := limits.Queues[cmp.Or(job.Queue, defaultQueue)]
	if !ok {
		return ""
	}
	if size := demand.SizeInQueue(queue.Resources); size.Nodes < nodes {
		return fmt.Sprintf("asks for %s, but ClusterQueue %q can admit at most %d of them (because %s), so the TrainJob would wait forever",
			plural(nodes, "node"), queue.ClusterQueue, size.Nodes, describeLimit(size.Limit))
	}
	return ""
}

// describeLimit describes why a ClusterQueue cannot admit more nodes of a TrainJob.
func describeLimit(s sizing.Shortage) string {
	switch {
	case s.Missing && s.Resource == "":
		return "no flavor has the labels that the runtime selects"
	case s.Missing:
		return "it has no quota for " + s.Resource
	}
	return fmt.Sprintf("its flavor %q has %s", s.Flavor, sizing.Format(s.Resource, s.Available))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// demandOf returns the requests of a TrainJob, and its number of nodes. The result "known" is false in three cases. In
// the first case, the document does not contain the runtime of the TrainJob. In the second case, the package "guard"
// could not parse an amount of the TrainJob. In the third case, the number of nodes is below 1 or above the maximum of
// the runtime. If the argument "unlimited" is true, a number above the maximum is allowed.
func demandOf(c *capacity.Result, job guard.Job, unlimited bool) (demand sizing.Job, nodes int, known bool) {
	demand, known = c.Jobs[job.Runtime.Name]
	if !known || job.UnknownAmounts {
		return demand, 0, false
	}
	nodes = demand.DefaultNodes
	if job.Nodes != nil {
		if *job.Nodes < 1 || !unlimited && *job.Nodes > int64(demand.MaxNodes) {
			return demand, 0, false // the rule node-limit reports this number
		}
		nodes = int(*job.Nodes)
	}
	demand.MaxNodes = nodes
	demand.Launcher = applyRequests(demand.Launcher, demand.LauncherAdds, job)
	if demand.LauncherIsNode { // otherwise, Trainer applies the requests of a TrainJob only to the launcher
		demand.Node = applyRequests(demand.Node, nil, job)
	}
	return demand, nodes, true
}

// applyRequests returns the requests of a pod of a TrainJob. The argument "of" contains the requests that the runtime
// sets for the whole pod. The argument "sidecars" contains the part of these requests that belongs to the pod's
// sidecar. A TrainJob changes only the requests of the main container. The init containers keep the runtime's requests
// for CPU, memory and ephemeral storage. For each of these resources, the request of the pod is the larger of two
// amounts. The first amount is the request of the main container plus the request of the sidecar. The second amount is
// the request of an init container. Source: Kubernetes, resource sharing within containers.
func applyRequests(of, sidecars sizing.Amounts, job guard.Job) sizing.Amounts {
	runtime := maps.Clone(of)
	for name, amount := range sidecars {
		runtime[name] -= amount
	}
	amounts := requestsOfMain(runtime, job)
	for name, amount := range sidecars {
		amounts[name] = sizing.Add(amounts[name], amount)
	}
	for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
		if amount, requested := runtime[name]; requested {
			amounts[name] = max(amounts[name], amount)
		}
	}
	return amounts
}

// requestsOfMain returns the requests of a main container. The argument "runtime" contains the requests that the
// runtime sets. If job.Replaces is set, the resources of the TrainJob replace all requests of the runtime. Otherwise,
// each request of the TrainJob replaces only the runtime's request for the same resource. After these replacements, a
// request for a resource can still be missing. If the TrainJob sets a limit for this resource, requestsOfMain uses the
// limit as the request, as Kubernetes does.
func requestsOfMain(runtime sizing.Amounts, job guard.Job) sizing.Amounts {
	amounts := maps.Clone(runtime)
	if job.Replaces != "" {
		amounts = sizing.Amounts{"pods": runtime["pods"]}
	}
	for name, limit := range job.Limits {
		if _, requested := amounts[name]; !requested {
			amounts[name] = amountOf(name, limit)
		}
	}
	for name, request := range job.Requests {
		amounts[name] = amountOf(name, request)
	}
	return amounts
}

// amountOf returns a quantity as an integer: thousandths of a CPU for the resource "cpu", and whole units otherwise.
func amountOf(name string, quantity resource.Quantity) int64 {
	if name == "cpu" {
		return quantity.MilliValue()
	}
	return quantity.Value()
}
