// Package fit says how many nodes a TrainJob can have within the bounds of its team: what a
// namespace's quota allows while nothing else runs there, and what a queue could ever admit.
package fit

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Amounts are amounts of resources by name: CPUs in thousandths, memory in bytes, all else as it is.
type Amounts map[string]int64

// Job is what the TrainJobs of a runtime ask for.
type Job struct {
	Default, Most  int     // nodes of a TrainJob that names no number, and of the largest
	LauncherIsNode bool    // whether the launcher is the first of them; there is one more at least
	Before         []Pod   // what runs, and ends, before launcher and nodes start
	Launcher, Node Amounts // of each
	Selector       map[string]string
	Together       bool // whether launcher and nodes must be of one flavor of a queue
}

// Pod is one pod that runs by itself.
type Pod struct {
	Name string
	Amounts
}

// Shortage is a bound that something exceeds.
type Shortage struct {
	Resource string
	Who      string // what asks: launcher, node or the name of a Pod that runs before, or "" for launcher and nodes together
	Flavor   string // of a queue, which has the Bound
	Asks     int64
	Bound    int64
	Lacking  bool // whether a queue has nothing of the resource at all or, without one, no flavor for the pods
}

// Fit is how large a TrainJob can be.
type Fit struct {
	Nodes int      // at most; 0 if none can run
	Bound Shortage // what decides on that: what one node more would exceed. The zero value is the runtime's own limit
}

// Hosts counts the nodes' pods of a TrainJob, beside its launcher. Trainer starts one at least.
func (j Job) Hosts(nodes int) int {
	if j.LauncherIsNode {
		return max(nodes-1, 1)
	}
	return nodes
}

// nodes is the largest number that has so many pods of nodes.
func (j Job) nodes(hosts int64) int {
	if hosts < 1 {
		return 0
	}
	hosts = min(hosts, int64(j.Most))
	if j.LauncherIsNode {
		hosts++
	}
	return min(int(hosts), j.Most)
}

// asks is what launcher and nodes ask for of a resource.
func (j Job) asks(resource string, hosts int64) int64 {
	return Plus(j.Launcher[resource], times(j.Node[resource], hosts))
}

// Asks is what launcher and nodes of a TrainJob ask for together.
func (j Job) Asks(nodes int) Amounts {
	all := Amounts{}
	for _, resource := range names(j.Launcher, j.Node) {
		all[resource] = j.asks(resource, int64(j.Hosts(nodes)))
	}
	return all
}

// Over lists what a TrainJob of so many nodes exceeds of a namespace's quota, by resource. Pods that
// run before have ended, and count no more, when launcher and nodes start.
func (j Job) Over(quota Amounts, nodes int) []Shortage {
	var all []Shortage
	for _, resource := range names(quota) {
		bound := quota[resource]
		if asks := j.asks(resource, int64(j.Hosts(nodes))); asks > bound {
			all = append(all, Shortage{Resource: resource, Asks: asks, Bound: bound})
		}
		for _, pod := range j.Before {
			if asks := pod.Amounts[resource]; asks > bound {
				all = append(all, Shortage{Resource: resource, Who: pod.Name, Asks: asks, Bound: bound})
			}
		}
	}
	return all
}

// InQuota says how large a TrainJob fits into a namespace's quota.
func (j Job) InQuota(quota Amounts) Fit {
	if over := j.Over(quota, 1); len(over) > 0 {
		return Fit{Bound: over[0]}
	}
	hosts := int64(math.MaxInt64)
	for resource, bound := range quota {
		hosts = min(hosts, room(j.Node[resource], bound-j.Launcher[resource]))
	}
	return j.fit(hosts, func(more int) Shortage { return j.Over(quota, more)[0] })
}

// fit is that of so many pods of nodes; bound says what one node more would exceed.
func (j Job) fit(hosts int64, bound func(nodes int) Shortage) Fit {
	f := Fit{Nodes: j.nodes(hosts)}
	if int64(j.Hosts(j.Most)) > hosts {
		f.Bound = bound(f.Nodes + 1)
	}
	return f
}

// least is the smaller of two.
func least(a, b Fit) Fit {
	return slices.MinFunc([]Fit{a, b}, func(a, b Fit) int { return cmp.Compare(a.Nodes, b.Nodes) })
}

// room is how many times an amount fits.
func room(amount, bound int64) int64 {
	switch {
	case bound < 0:
		return 0
	case amount == 0:
		return math.MaxInt64
	}
	return bound / amount
}

// Plus adds amounts, neither of which is negative, and stops at the largest number there is.
func Plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times does the same for a product.
func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func names(of ...Amounts) []string {
	all := map[string]bool{}
	for _, amounts := range of {
		for name := range amounts {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
