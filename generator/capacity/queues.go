package capacity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trainyard/trainyard/generator/capacity/sizing"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"
)

// The following rules are about ClusterQueues.
var (
	LendingOverQuota     = problem.Rule{Name: "lending-over-quota", Doc: "A ClusterQueue lends at most its own quota"}
	JobNeverAdmitted     = problem.Rule{Name: "job-never-admitted", Doc: "Each tenant has a queue that can admit the smallest TrainJob of each runtime that the tenant lists"}
	DefaultNeverAdmitted = problem.Rule{Name: "default-job-never-admitted", Doc: "Each tenant has a queue that can admit the default TrainJob of each runtime that the tenant lists"}
)

type clusterQueue struct {
	cohort string
	groups [][]flavorQuota
}

// flavorQuota is the quota of one ClusterQueue for one flavor. The fields "borrowing" and "lending" contain only the
// resources for which the document limits borrowing or lending.
type flavorQuota struct {
	flavor                    string
	quota, borrowing, lending sizing.Amounts
}

func parseQueues(given map[string]any) (map[string]clusterQueue, error) {
	queues := map[string]clusterQueue{}
	for name := range given {
		queue := values.Mapping(given, name)
		cohort, _ := queue["cohort"].(string)
		read := clusterQueue{cohort: cohort}
		for _, group := range values.Mappings(queue, "groups") {
			var quotas []flavorQuota
			for _, flavor := range values.Mappings(group, "flavors") {
				q, err := parseFlavorQuota(flavor)
				if err != nil {
					return nil, problem.Fault("reading the quota of ClusterQueue "+name, err)
				}
				quotas = append(quotas, q)
			}
			read.groups = append(read.groups, quotas)
		}
		queues[name] = read
	}
	return queues, nil
}

func parseFlavorQuota(flavor map[string]any) (q flavorQuota, err error) {
	q.flavor, _ = flavor["flavor"].(string)
	for field, into := range map[string]*sizing.Amounts{"quota": &q.quota, "borrowing": &q.borrowing, "lending": &q.lending} {
		if *into, err = sizing.ParseAmounts(values.Mapping(flavor, field), 0); err != nil {
			return q, err
		}
	}
	return q, nil
}

// lendableAmount returns the amount of a resource that the other queues of the cohort can borrow from this quota.
func (q flavorQuota) lendableAmount(resource string) int64 {
	if limit, limited := q.lending[resource]; limited {
		return min(limit, q.quota[resource])
	}
	return q.quota[resource]
}

type lendingKey struct{ cohort, flavor, resource string }

// cohortLending holds, for each cohort, flavor and resource, the total amount that the queues of the cohort can lend.
type cohortLending map[lendingKey]int64

func lendingOf(queues map[string]clusterQueue) cohortLending {
	all := cohortLending{}
	for _, queue := range queues {
		for _, q := range slices.Concat(queue.groups...) {
			for resource := range q.quota {
				key := lendingKey{queue.cohort, q.flavor, resource}
				all[key] = sizing.Add(all[key], q.lendableAmount(resource))
			}
		}
	}
	return all
}

// availableQuota returns the quota of a queue for a flavor, plus the amounts that the queue can borrow from its cohort.
// Source: Kueue's function potentialAvailable.
func (l cohortLending) availableQuota(q flavorQuota, cohort string) sizing.Amounts {
	available := maps.Clone(q.quota)
	if cohort == "" {
		return available
	}
	for resource, quota := range q.quota {
		most := sizing.Add(quota-q.lendableAmount(resource), l[lendingKey{cohort, q.flavor, resource}])
		if limit, limited := q.borrowing[resource]; limited {
			most = min(most, quota+limit)
		}
		available[resource] = most
	}
	return available
}

// availableResources returns the largest amounts that each ClusterQueue can use. Each amount consists of the
// ClusterQueue's own quota, and of the quota that it can borrow while no jobs run in its cohort.
func availableResources(queues map[string]clusterQueue, all cohortLending, flavors map[string]any) map[string]sizing.Queue {
	available := map[string]sizing.Queue{}
	for name, queue := range queues {
		for _, quotas := range queue.groups {
			var group sizing.Group
			for _, q := range quotas {
				group = append(group, sizing.Flavor{Name: q.flavor, NodeLabels: values.Texts(flavors, q.flavor, "nodeLabels"), Available: all.availableQuota(q, queue.cohort)})
			}
			available[name] = append(available[name], group)
		}
	}
	return available
}

// readQueues computes the resources that each ClusterQueue could use, and reports each ClusterQueue that lends more than
// its quota. It does not report a ClusterQueue for which another check has reported a problem. Queues lend each other
// quota, so one wrong queue could change the result for every queue. If another check has reported a problem in
// spec.queues, readQueues therefore sets c.queues to nil, and no TrainJob is compared with queues.
func (c *comparison) readQueues() error {
	spec := values.Mapping(c.values, "spec", "queues")
	var err error
	if c.queues, err = parseQueues(values.Mapping(spec, "clusterQueues")); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.queues)) {
		if c.reported.below("spec", "queues", "clusterQueues", name) {
			continue
		}
		for g, group := range c.queues[name].groups {
			for i, q := range group {
				c.checkLending([]string{"spec", "queues", "clusterQueues", name, "groups", fmt.Sprint(g), "flavors", fmt.Sprint(i), "lending"}, q)
			}
		}
	}
	if c.reported.below("spec", "queues") {
		c.queues = nil
		return nil
	}
	c.lending = lendingOf(c.queues)
	c.available = availableResources(c.queues, c.lending, values.Mapping(spec, "flavors"))
	return nil
}

func (c *comparison) checkLending(path []string, q flavorQuota) {
	for _, resource := range slices.Sorted(maps.Keys(q.lending)) {
		if quota, ok := q.quota[resource]; ok && q.lending[resource] > quota {
			c.report(&c.Problems, values.Extend(path, resource), LendingOverQuota, fmt.Sprintf("want at most %s, which is the quota of this ClusterQueue, got %s",
				sizing.Format(resource, quota), sizing.Format(resource, q.lending[resource])))
		}
	}
}

// queuesOf maps the name of each LocalQueue of a tenant to its ClusterQueue. It leaves out a LocalQueue if the document
// does not declare its ClusterQueue.
func (c *comparison) queuesOf(tenant map[string]any) map[string]Queue {
	queues := map[string]Queue{}
	for name, queue := range values.Texts(tenant, "queues") {
		if available, known := c.available[queue]; known {
			queues[name] = Queue{queue, available}
		}
	}
	return queues
}

// sizesInQueues returns, for each queue of a tenant, the size of the largest TrainJob that the queue could admit. The
// argument "job" describes the TrainJobs of one runtime. sizesInQueues ignores queues whose ClusterQueue is not in the
// document. If no queue remains, it reports nothing. If the remaining queues could admit no TrainJob of the runtime, it
// reports a problem. If they could admit only TrainJobs that are smaller than the default TrainJob, it reports a note.
func (c *comparison) sizesInQueues(path []string, tenant map[string]any, job sizing.Job) map[string]sizing.Size {
	sizes := map[string]sizing.Size{}
	best, bestQueue := sizing.Size{Nodes: -1}, ""
	queues := c.queuesOf(tenant)
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		sizes[name] = job.SizeInQueue(queues[name].Resources)
		if sizes[name].Nodes > best.Nodes {
			best, bestQueue = sizes[name], queues[name].ClusterQueue
		}
	}
	switch {
	case bestQueue == "":
	case best.Nodes == 0:
		c.report(&c.Problems, path, JobNeverAdmitted, "no TrainJob of this runtime can be admitted: "+whyNever(best.Limit, bestQueue))
	case best.Nodes < job.DefaultNodes:
		c.report(&c.Notes, path, DefaultNeverAdmitted, fmt.Sprintf("the default TrainJob of this runtime has %d nodes and is never admitted, because ClusterQueue %q admits at most %d nodes: set fewer nodes in TrainJobs, or raise the quota",
			job.DefaultNodes, bestQueue, best.Nodes))
	}
	return sizes
}

func whyNever(s sizing.Shortage, queue string) string {
	switch {
	case s.Missing && s.Resource == "":
		return fmt.Sprintf("no flavor of ClusterQueue %q has the node labels that %s selects: change nodeSelector, or nodeLabels of a flavor", queue, requester(s))
	case s.Missing:
		return fmt.Sprintf("%s requests resource %s, for which ClusterQueue %q has no quota: add this resource to a group of the ClusterQueue", requester(s), s.Resource, queue)
	}
	return fmt.Sprintf("%s requests %s, but flavor %q of ClusterQueue %q has only %s, including the quota that the ClusterQueue can borrow: raise the quota, or lower the requests of the runtime",
		requester(s), sizing.Format(s.Resource, s.Requested), s.Flavor, queue, sizing.Format(s.Resource, s.Available))
}

func queueBound(queue string, s sizing.Shortage) string {
	switch {
	case s.Missing && s.Resource == "":
		return queue + " flavors"
	case s.Resource == "":
		return runtimeBound
	}
	return queue + " " + s.Resource
}
