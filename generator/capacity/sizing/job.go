// Package sizing computes the maximum number of nodes that a TrainJob can have within the quota of its namespace, and
// within the quota of a ClusterQueue. The result assumes that nothing else runs in the namespace, or in the
// ClusterQueue's cohort.
package sizing

import (
	"maps"
	"slices"
)

// Job describes the resources that the TrainJobs of a runtime request.
type Job struct {
	DefaultNodes   int // number of nodes of a TrainJob that does not set numNodes
	MaxNodes       int // number of nodes of the largest TrainJob that the runtime allows
	LauncherIsNode bool
	Initializers   []Pod   // pods that run and end before the launcher and the nodes start
	Launcher, Node Amounts // requests of one pod
	LauncherAdds   Amounts // requests of the launcher's sidecar, which Launcher includes
	NodeSelector   map[string]string
	SameFlavor     bool // whether the launcher and the nodes must get the same flavor of a queue
}

// Pod describes a pod that ends before the launcher and the nodes start, such as an initializer.
type Pod struct {
	Name string
	Amounts
}

// Shortage describes why pods do not fit. There are three possible reasons. First, the pods can request a larger amount
// of a resource than a quota or a flavor has. Second, a queue may lack a quota for a requested resource. Third, a queue
// may lack a flavor with the node labels that the pods select.
type Shortage struct {
	Resource  string
	Pod       string // launcher, node, or the name of an initializer; "" for the launcher and the nodes together
	Flavor    string // the flavor that has the limit, if a queue sets the limit
	Requested int64
	Available int64
	Missing   bool // whether the queue has no quota for Resource or, if Resource is empty, no flavor for the pods
}

// Size describes the largest TrainJob that fits: its number of nodes, and the limit that prevents a larger TrainJob.
type Size struct {
	Nodes int      // the largest number of nodes; 0 if no TrainJob can run
	Limit Shortage // the limit that prevents one more node; the zero value if the runtime's MaxNodes is the limit
}

// nodePods returns the number of pods in the ReplicatedJob "node" if a TrainJob has the given number of nodes. If
// the launcher is a node, it counts as one of the nodes, so the ReplicatedJob needs one pod less. However, Trainer
// always starts at least one pod.
func (j Job) nodePods(nodes int) int64 {
	if j.LauncherIsNode {
		nodes = max(nodes-1, 1)
	}
	return int64(nodes)
}

func (j Job) requests(nodes int, withLauncher bool) Amounts {
	sum := Amounts{}
	if withLauncher {
		maps.Copy(sum, j.Launcher)
	}
	for name, amount := range j.Node {
		sum[name] = Add(sum[name], multiply(amount, j.nodePods(nodes)))
	}
	return sum
}

// Shortages lists the resources for which a TrainJob exceeds a quota, in alphabetical order. The requests of
// initializers are compared with the quota separately, because initializers complete before the launcher and the
// nodes start.
func (j Job) Shortages(quota Amounts, nodes int) []Shortage {
	running := append([]Pod{{Amounts: j.requests(nodes, true)}}, j.Initializers...)
	var shortages []Shortage
	for _, name := range slices.Sorted(maps.Keys(quota)) {
		for _, pod := range running {
			if requested := pod.Amounts[name]; requested > quota[name] {
				shortages = append(shortages, Shortage{Resource: name, Pod: pod.Name, Requested: requested, Available: quota[name]})
			}
		}
	}
	return shortages
}

// SizeInQuota returns the size of the largest TrainJob that fits into the quota of a namespace.
func (j Job) SizeInQuota(quota Amounts) Size {
	if shortages := j.Shortages(quota, 1); len(shortages) > 0 {
		return Size{Limit: shortages[0]}
	}
	pods := quota.subtract(j.Launcher).countPods(j.Node)
	return j.largestSize(pods, func(nodes int) Shortage { return j.Shortages(quota, nodes)[0] })
}

// largestSize returns the size of the largest TrainJob that fits. The argument "pods" says how many pods of the
// ReplicatedJob "node" fit into the available resources. To find the limit that prevents a larger TrainJob, largestSize
// calls the function "shortage". The argument of this call is the largest number of nodes that fits, plus one. The
// function "shortage" must return the first limit that a TrainJob with this larger number of nodes exceeds.
func (j Job) largestSize(pods int64, shortage func(nodes int) Shortage) Size {
	most := j.nodePods(j.MaxNodes)
	if pods >= most {
		return Size{Nodes: j.MaxNodes}
	}
	nodes := int(pods)
	if j.LauncherIsNode && pods > 0 {
		nodes++
	}
	return Size{Nodes: nodes, Limit: shortage(nodes + 1)}
}
