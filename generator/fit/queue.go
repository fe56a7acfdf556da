package fit

import (
	"maps"
	"math"
	"slices"
)

// Queue is what a ClusterQueue could admit if nothing else ran in its cohort. The pods of one kind
// take one flavor of each group, the first that has room for them.
type Queue []Group

// Group is some resources, and the flavors that they come in.
type Group []Flavor

// Flavor is one of a group.
type Flavor struct {
	Name   string
	Labels map[string]string // of its Kubernetes nodes
	Room   Amounts
}

// InQueue says how large a TrainJob a queue could ever admit. Unlike a quota, it counts pods that run
// before as if they ran all the time.
// Source: Kueue's flavorassigner and its maximum capacity (potentialAvailable).
func (j Job) InQueue(q Queue) Fit {
	for _, asks := range []Amounts{j.Launcher, j.Node} {
		if lacking, ok := q.lacks(asks); ok {
			return Fit{Bound: lacking}
		}
	}
	left := q.copied()
	for _, pod := range j.Before {
		if short, ok := left.take(pod, nil); !ok {
			return Fit{Bound: short}
		}
	}
	fits := Fit{Nodes: j.Most}
	for _, group := range left {
		fits = least(fits, j.inGroup(group))
	}
	return fits
}

// lacks finds a resource that no group has. Pods themselves need no quota.
func (q Queue) lacks(asks Amounts) (Shortage, bool) {
	for _, resource := range names(asks) {
		covered := slices.ContainsFunc(q, func(g Group) bool { return g.covers(resource) })
		if !covered && resource != "pods" && asks[resource] > 0 {
			return Shortage{Resource: resource, Asks: asks[resource], Lacking: true}, true
		}
	}
	return Shortage{}, false
}

func (g Group) covers(resource string) bool {
	return slices.ContainsFunc(g, func(f Flavor) bool { _, has := f.Room[resource]; return has })
}

// take gives a pod its flavor of each group.
func (q Queue) take(pod Pod, selector map[string]string) (Shortage, bool) {
	if lacking, ok := q.lacks(pod.Amounts); ok {
		lacking.Who = pod.Name
		return lacking, false
	}
	for _, group := range q {
		i, short := group.first(pod.Amounts, selector)
		if i < 0 {
			short.Who = pod.Name
			return short, false
		}
		group[i] = group[i].without(pod.Amounts)
	}
	return Shortage{}, true
}

// first is the first flavor that has room for a pod; below 0 if none has, with what is short in the first that it
// could have.
func (g Group) first(asks Amounts, selector map[string]string) (int, Shortage) {
	none := Shortage{Lacking: true}
	short := none
	for i, f := range g {
		if !g.admits(f, selector) {
			continue
		}
		over, lacking := f.over(asks)
		if !lacking {
			return i, Shortage{}
		}
		if short == none {
			short = over
		}
	}
	return -1, short
}

// inGroup is how large a TrainJob fits into one group.
func (j Job) inGroup(group Group) Fit {
	chosen, short := group.first(j.Launcher, j.Selector)
	if chosen < 0 {
		short.Who = "launcher"
		return Fit{Bound: short}
	}
	best := Fit{Bound: Shortage{Lacking: true}}
	for i, f := range group {
		if !group.admits(f, j.Selector) {
			continue
		}
		withLauncher := i == chosen || j.Together
		if withLauncher {
			f = f.without(j.Launcher)
		}
		fits := j.fit(f.hosts(j.Node), func(more int) Shortage { return f.short(j, more, withLauncher) })
		if fits.Nodes > best.Nodes || best.Nodes == 0 {
			best = fits
		}
	}
	return best
}

// without is a flavor with less room.
func (f Flavor) without(asks Amounts) Flavor {
	f.Room = maps.Clone(f.Room)
	for resource := range f.Room {
		f.Room[resource] -= asks[resource]
	}
	return f
}

// hosts is how many pods there is room for.
func (f Flavor) hosts(asks Amounts) int64 {
	hosts := int64(math.MaxInt64)
	for resource, left := range f.Room {
		hosts = min(hosts, room(asks[resource], left))
	}
	return hosts
}

// short is what a TrainJob of so many nodes exceeds of a flavor.
func (f Flavor) short(j Job, nodes int, withLauncher bool) Shortage {
	hosts := int64(j.Hosts(nodes))
	for _, resource := range names(f.Room) {
		asks, left := times(j.Node[resource], hosts), f.Room[resource]
		if asks <= left {
			continue
		}
		if withLauncher {
			return Shortage{Resource: resource, Flavor: f.Name, Asks: Plus(asks, j.Launcher[resource]), Bound: left + j.Launcher[resource]}
		}
		return Shortage{Resource: resource, Who: "node", Flavor: f.Name, Asks: asks, Bound: left}
	}
	return Shortage{}
}

// over is a resource of which a flavor has too little for a pod.
func (f Flavor) over(asks Amounts) (Shortage, bool) {
	for _, resource := range names(f.Room) {
		if asks[resource] > f.Room[resource] {
			return Shortage{Resource: resource, Flavor: f.Name, Asks: asks[resource], Bound: f.Room[resource]}, true
		}
	}
	return Shortage{}, false
}

// admits tells whether pods that choose Kubernetes nodes by labels may have a flavor. Labels that no flavor of the
// group has say nothing about flavors.
func (g Group) admits(f Flavor, selector map[string]string) bool {
	for key, value := range selector {
		known := slices.ContainsFunc(g, func(other Flavor) bool { _, has := other.Labels[key]; return has })
		if known && f.Labels[key] != value {
			return false
		}
	}
	return true
}

func (q Queue) copied() Queue {
	all := make(Queue, len(q))
	for i, group := range q {
		all[i] = slices.Clone(group)
	}
	return all
}
