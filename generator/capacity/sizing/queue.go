package sizing

import (
	"maps"
	"slices"
)

// Queue holds the quota that a ClusterQueue could use if nothing else ran in its cohort. In each resource group, Kueue
// chooses one flavor for all pods that have the same role, such as all pods with the role "node". Kueue chooses the
// first flavor that has enough resources for all pods with this role.
type Queue []Group

// Group is a resource group of a ClusterQueue. Kueue tries a group's flavors in the order in which the Group
// lists them.
type Group []Flavor

// Flavor holds the resources that a ClusterQueue can use in one ResourceFlavor.
type Flavor struct {
	Name       string
	NodeLabels map[string]string // labels of the Kubernetes nodes of the flavor
	Available  Amounts
}

// SizeInQueue returns the size of the largest TrainJob that a queue could ever admit. A namespace's ResourceQuota counts
// initializers only while they run, but a queue counts them during the whole TrainJob. Therefore, SizeInQueue first
// subtracts the initializers' requests from the quota. SizeInQueue follows Kueue's package "flavorassigner", and Kueue's
// function potentialAvailable, which computes the maximum capacity.
func (j Job) SizeInQueue(q Queue) Size {
	for _, requests := range []Amounts{j.Launcher, j.Node} {
		if missing, ok := q.uncoveredResource(requests); ok {
			return Size{Limit: missing}
		}
	}
	rest := make(Queue, len(q))
	for i, group := range q {
		rest[i] = slices.Clone(group)
	}
	for _, pod := range j.Initializers {
		if shortage, ok := rest.assign(pod.Amounts); !ok {
			shortage.Pod = pod.Name
			return Size{Limit: shortage}
		}
	}
	smallest := Size{Nodes: j.MaxNodes}
	for _, group := range rest {
		if size := j.sizeInGroup(group); size.Nodes < smallest.Nodes {
			smallest = size
		}
	}
	return smallest
}

// uncoveredResource returns a Shortage for the first requested resource that no resource group of the queue covers. The
// second result is false if the groups cover all requested resources. The resource "pods" always counts as covered,
// because Kueue does not require a quota for pods.
func (q Queue) uncoveredResource(requests Amounts) (Shortage, bool) {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		covered := slices.ContainsFunc(q, func(g Group) bool { return g.covers(name) })
		if !covered && name != "pods" && requests[name] > 0 {
			return Shortage{Resource: name, Requested: requests[name], Missing: true}, true
		}
	}
	return Shortage{}, false
}

func (g Group) covers(resource string) bool {
	return slices.ContainsFunc(g, func(f Flavor) bool { _, has := f.Available[resource]; return has })
}

// assign reserves quota of the queue for a pod: in each resource group, assign subtracts the pod's
// requests from the first flavor that has enough resources. If a group has no such flavor, or if no
// group covers a requested resource, assign returns a Shortage and false.
func (q Queue) assign(requests Amounts) (Shortage, bool) {
	if missing, ok := q.uncoveredResource(requests); ok {
		return missing, false
	}
	for _, group := range q {
		i, shortage := group.firstFlavor(requests, nil)
		if i < 0 {
			return shortage, false
		}
		group[i].Available = group[i].Available.subtract(requests)
	}
	return Shortage{}, true
}

// firstFlavor returns the index of the first flavor with enough resources for a pod, among the flavors that the node
// selector allows. If there is no such flavor, firstFlavor returns -1 and the Shortage of the first allowed flavor.
// If the node selector allows no flavor, only the field Missing of the Shortage is set.
func (g Group) firstFlavor(requests Amounts, selector map[string]string) (int, Shortage) {
	none := Shortage{Missing: true}
	shortage := none
	for i, f := range g {
		if !g.admitsFlavor(f, selector) {
			continue
		}
		exceeded, short := f.describeShortage(requests)
		if !short {
			return i, Shortage{}
		}
		if shortage == none {
			shortage = exceeded
		}
	}
	return -1, shortage
}

// sizeInGroup returns the size of the largest TrainJob for which the given resource group has enough
// quota. For the nodes, sizeInGroup tries each flavor that the node selector allows, and returns the
// largest size. The launcher uses the first flavor with enough resources or, if SameFlavor is set, the
// flavor of the nodes.
func (j Job) sizeInGroup(group Group) Size {
	chosen, shortage := group.firstFlavor(j.Launcher, j.NodeSelector)
	if chosen < 0 {
		shortage.Pod = "launcher"
		return Size{Limit: shortage}
	}
	best := Size{Limit: Shortage{Missing: true}}
	for i, f := range group {
		if !group.admitsFlavor(f, j.NodeSelector) {
			continue
		}
		if size := j.sizeInFlavor(f, i == chosen || j.SameFlavor); size.Nodes > best.Nodes || best.Nodes == 0 {
			best = size
		}
	}
	return best
}

func (j Job) sizeInFlavor(f Flavor, withLauncher bool) Size {
	available, pod := f.Available, "node"
	if withLauncher {
		available, pod = available.subtract(j.Launcher), ""
	}
	return j.largestSize(available.countPods(j.Node), func(nodes int) Shortage {
		shortage, short := f.describeShortage(j.requests(nodes, withLauncher))
		if short {
			shortage.Pod = pod
		}
		return shortage
	})
}

// describeShortage compares requests with the amounts of the flavor, in alphabetical order of the resources. It returns
// a Shortage for the first resource whose requested amount is larger than the amount of the flavor. If the flavor has
// enough of each of its resources, the second result is false.
func (f Flavor) describeShortage(requests Amounts) (Shortage, bool) {
	for _, name := range slices.Sorted(maps.Keys(f.Available)) {
		if requests[name] > f.Available[name] {
			return Shortage{Resource: name, Flavor: f.Name, Requested: requests[name], Available: f.Available[name]}, true
		}
	}
	return Shortage{}, false
}

// admitsFlavor reports whether a node selector allows a flavor. Kueue ignores a label of the node selector if no
// flavor of the group has this label.
func (g Group) admitsFlavor(f Flavor, selector map[string]string) bool {
	for key, value := range selector {
		known := slices.ContainsFunc(g, func(other Flavor) bool { _, has := other.NodeLabels[key]; return has })
		if known && f.NodeLabels[key] != value {
			return false
		}
	}
	return true
}
