package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/capacity/sizing"
	"github.com/trainyard/trainyard/generator/problem"
)

// QuotaBelowQueues compares the quota of a tenant with the tenant's ClusterQueues. If the ClusterQueues could admit
// more than the quota allows, Kubernetes would refuse pods of admitted TrainJobs.
var QuotaBelowQueues = problem.Rule{Name: "quota-below-queues", Doc: "The quota of a tenant is at least the amount that the tenant's ClusterQueues can admit"}

// queuedQuota compares each resource in a tenant's quota with the tenant's ClusterQueues. It reports a problem if the
// ClusterQueues can admit more of the resource than the quota allows.
func (c *comparison) queuedQuota(tenant string, queues, given map[string]any, quota sizing.Amounts) {
	names := map[string]bool{}
	for _, name := range queues {
		names[fmt.Sprint(name)] = true
	}
	sorted := slices.Sorted(maps.Keys(names))
	own, most := c.admittedAmounts(sorted)
	for _, resource := range slices.Sorted(maps.Keys(given)) {
		path, admits := []string{"spec", "tenants", tenant, "quota", resource}, `ClusterQueue "`+strings.Join(sorted, `" and ClusterQueue "`)+`"`
		switch {
		case most[resource] == math.MaxInt64:
			c.report(&c.Problems, path, QuotaBelowQueues, fmt.Sprintf("not allowed: %s can admit TrainJobs with any number of %s. If the tenant has a quota for %[2]s, Kubernetes could refuse pods of these TrainJobs: remove this field, or add a quota for %[2]s to each ClusterQueue of the tenant", admits, resource))
		case most[resource] > quota[resource]:
			c.report(&c.Problems, path, QuotaBelowQueues, fmt.Sprintf("want at least %s, got %[4]v: %[2]s can admit TrainJobs that together need %[1]s%[3]s. If this field is lower, Kubernetes could refuse pods of these TrainJobs: raise or remove this field, or give the tenant a ClusterQueue with a smaller quota",
				sizing.Quantity(resource, most[resource]), admits, describeOwn(resource, own, most), given[resource]))
		}
	}
}

// describeOwn returns a remark with two amounts of one resource: the own quota of a tenant's ClusterQueues, and the
// quota that these ClusterQueues can borrow. If the ClusterQueues can borrow nothing, describeOwn returns an empty
// text.
func describeOwn(resource string, own, most sizing.Amounts) string {
	if own[resource] == most[resource] {
		return ""
	}
	return fmt.Sprintf(" (own quota %s, borrowed quota %s)", sizing.Quantity(resource, own[resource]), sizing.Quantity(resource, most[resource]-own[resource]))
}

// admittedAmounts returns the amounts that several ClusterQueues can admit at the same time. The result "own" excludes
// borrowed quota, and the result "most" includes borrowed quota. A ClusterQueue without a quota for pods admits any
// number of pods.
func (c *comparison) admittedAmounts(names []string) (own, most sizing.Amounts) {
	own, most = sizing.Amounts{}, sizing.Amounts{}
	shared := map[lendingKey]int64{}
	for _, name := range names {
		queue, known := c.queues[name]
		quotas := slices.Concat(queue.groups...)
		if known && !slices.ContainsFunc(quotas, func(q flavorQuota) bool { _, counted := q.quota["pods"]; return counted }) {
			most["pods"] = math.MaxInt64
		}
		for _, q := range quotas {
			for resource, available := range c.lending.availableQuota(q, queue.cohort) {
				private := q.quota[resource] - q.lendableAmount(resource)
				own[resource] = sizing.Add(own[resource], q.quota[resource])
				most[resource] = sizing.Add(most[resource], private)
				key := lendingKey{queue.cohort, q.flavor, resource}
				shared[key] = sizing.Add(shared[key], available-private)
			}
		}
	}
	for key, amount := range shared {
		most[key.resource] = sizing.Add(most[key.resource], min(amount, c.lending[key]))
	}
	return own, most
}
