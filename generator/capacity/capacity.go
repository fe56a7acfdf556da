// Package capacity checks whether the quotas and queues of tenants have enough resources for the TrainJobs of each
// runtime. The package reports TrainJobs that can never run, and the maximum number of nodes of a TrainJob.
package capacity

import (
	"fmt"
	"maps"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/capacity/sizing"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

var demandsPath = cue.ParsePath("demands")

// Rules about quotas.
var (
	OverQuota        = problem.Rule{Name: "job-over-quota", Doc: "The smallest TrainJob of a runtime fits into the quota of each tenant that lists the runtime"}
	DefaultOverQuota = problem.Rule{Name: "default-job-over-quota", Doc: "The default TrainJob of a runtime fits into the quota of each tenant that lists the runtime"}
)

// demand holds the resources that the TrainJobs of a runtime request. It is an entry of the field "demands" in
// demands.cue.
type demand struct {
	Nodes          int               `json:"nodes"`
	MaxNodes       int               `json:"maxNodes"`
	LauncherIsNode bool              `json:"launcherIsNode"`
	SameFlavor     bool              `json:"sameFlavor"`
	NodeSelector   map[string]string `json:"nodeSelector"`
	Initializers   []struct {
		Name    string         `json:"name"`
		Amounts map[string]any `json:"amounts"`
	} `json:"initializers"`
	Launcher     map[string]any `json:"launcher"`
	LauncherAdds map[string]any `json:"launcherAdds"` // requests of the launcher's other containers
	LauncherOnly []string       `json:"launcherOnly"` // resources for which the launcher has its own amount
	Node         map[string]any `json:"node"`
	Processes    struct {
		Default int `json:"default"`
		Min     int `json:"min"`
		Max     int `json:"max"`
	} `json:"processes"`
}

func (d demand) job() (j sizing.Job, err error) {
	j = sizing.Job{DefaultNodes: d.Nodes, MaxNodes: d.MaxNodes, LauncherIsNode: d.LauncherIsNode, SameFlavor: d.SameFlavor, NodeSelector: d.NodeSelector}
	if j.Launcher, err = sizing.ParseAmounts(d.Launcher, 1); err != nil {
		return j, err
	}
	if j.LauncherAdds, err = sizing.ParseAmounts(d.LauncherAdds, 0); err != nil {
		return j, err
	}
	for name, amount := range j.LauncherAdds {
		j.Launcher[name] = sizing.Add(j.Launcher[name], amount)
	}
	if j.Node, err = sizing.ParseAmounts(d.Node, 1); err != nil {
		return j, err
	}
	for _, initializer := range d.Initializers {
		amounts, err := sizing.ParseAmounts(initializer.Amounts, 1)
		if err != nil {
			return j, err
		}
		j.Initializers = append(j.Initializers, sizing.Pod{Name: initializer.Name, Amounts: amounts})
	}
	return j, nil
}

// Record is the result for one tenant, one runtime and one queue: the maximum number of nodes that a TrainJob of the
// runtime can have in the tenant's namespace. If target.gang is not kueue, TrainJobs do not wait in queues of Kueue, so
// a Record has no queue. If the tenant uses no ClusterQueue of the document, a Record has no queue either.
type Record struct {
	Environment string  `json:"environment,omitempty"`
	Tenant      string  `json:"tenant"`
	Runtime     string  `json:"runtime"`
	Queue       string  `json:"queue,omitempty"` // the LocalQueue; empty if no declared queue admits the jobs
	Fits        Verdict `json:"fits"`
	Nodes       int     `json:"nodes"`   // the maximum number of nodes if nothing else runs
	Default     int     `json:"default"` // the number of nodes if a TrainJob does not set it
	Bound       string  `json:"bound"`   // the value that limits nodes, such as quota.cpu or limits.maxNodes
}

// Verdict states which TrainJobs fit: the default TrainJob, only a smaller TrainJob, or no TrainJob.
type Verdict string

// The values of Verdict.
const (
	Default Verdict = "default" // a TrainJob with the default number of nodes
	Smaller Verdict = "smaller" // only a TrainJob with fewer nodes
	Never   Verdict = "never"   // no TrainJob
)

// newVerdict returns the verdict for the TrainJobs of a runtime. The argument "nodes" is the number of
// nodes of the largest TrainJob that fits, or 0 if no TrainJob fits.
func newVerdict(nodes int, job sizing.Job) Verdict {
	switch {
	case nodes == 0:
		return Never
	case nodes < job.DefaultNodes:
		return Smaller
	}
	return Default
}

// Limits holds the resources that the TrainJobs of a tenant can use if nothing else runs.
type Limits struct {
	Quota  sizing.Amounts
	Queues map[string]Queue // by the name of the LocalQueue; only queues whose ClusterQueue is in the document
}

// Queue holds the resources that a ClusterQueue can give to a TrainJob if nothing else runs.
type Queue struct {
	ClusterQueue string
	Resources    sizing.Queue
}

// Result is the capacity of a document.
type Result struct {
	Jobs     map[string]sizing.Job // the default requests of TrainJobs, by runtime
	Tenants  map[string]Limits
	Records  []Record
	Bounds   []object.Bound // comparisons for a Helm chart, whose users can change the compared values
	Problems problem.List   // TrainJobs that can never run, and amounts that contradict each other
	Notes    problem.List   // default TrainJobs that do not fit, and quotas that do not match the requested devices
}

type comparison struct {
	Result
	document  *load.Document
	values    map[string]any // the document as plain data
	reported  Reported
	demands   map[string]demand
	queues    map[string]clusterQueue // empty if Kueue does not admit jobs
	lending   cohortLending
	available map[string]sizing.Queue // by ClusterQueue; empty if Kueue does not admit jobs
}

// Reported lists the paths of values for which other checks have reported a problem. Compare does not compare these
// values with other values, because a comparison could report the same mistake again.
type Reported [][]string

// below returns true if one of the reported paths is equal to the given path, or starts with the
// given path.
func (r Reported) below(path ...string) bool {
	return slices.ContainsFunc(r, func(reported []string) bool {
		return len(reported) >= len(path) && slices.Equal(reported[:len(path)], path)
	})
}

// Compare returns the capacity of a document. The argument "filled" is trainyard's CUE package, filled with the values of
// the document. Compare leaves out runtimes, quotas and queues for which a problem was reported. Therefore the result is
// complete only for a document without problems.
func Compare(d *load.Document, document map[string]any, filled cue.Value, reported Reported) (*Result, error) {
	c := &comparison{document: d, values: document, reported: reported, Result: Result{Jobs: map[string]sizing.Job{}, Tenants: map[string]Limits{}}}
	if values.Mapping(document, "spec", "target")["gang"] == "kueue" {
		if err := c.readQueues(); err != nil {
			return nil, err
		}
	}
	if err := c.readDemands(filled); err != nil {
		return nil, err
	}
	tenants := values.Mapping(document, "spec", "tenants")
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		if reported.below("spec", "tenants", name, "quota") || reported.below("spec", "tenants", name, "queues") {
			continue
		}
		if err := c.compareTenant(name, values.Mapping(tenants, name)); err != nil {
			return nil, err
		}
		c.checkTenantDevices(name, values.Mapping(tenants, name))
	}
	c.Bounds = c.checkBounds()
	return &c.Result, nil
}

// readDemands reads the requests of the TrainJobs of each runtime.
func (c *comparison) readDemands(filled cue.Value) error {
	if err := evaluate.Decode(filled.LookupPath(demandsPath), &c.demands, "demands of runtimes"); err != nil {
		return err
	}
	for name, d := range c.demands {
		if c.reported.below("spec", "runtimes", name) {
			continue
		}
		job, err := d.job()
		if err != nil {
			return problem.Fault("reading the demand of "+name, err)
		}
		c.Jobs[name] = job
	}
	return nil
}

// compareTenant compares the demands of a tenant's runtimes with the tenant's quota and queues.
func (c *comparison) compareTenant(name string, tenant map[string]any) error {
	given := values.Mapping(tenant, "quota")
	quota, err := sizing.ParseAmounts(given, 0)
	if err != nil {
		return problem.Fault("reading the quota of "+name, err)
	}
	c.queuedQuota(name, values.Mapping(tenant, "queues"), given, quota)
	c.Tenants[name] = Limits{quota, c.queuesOf(tenant)}
	runtimes, _ := tenant["runtimes"].([]any)
	for i, item := range runtimes {
		runtime, _ := item.(string)
		job, known := c.Jobs[runtime]
		if !known {
			continue
		}
		path := []string{"spec", "tenants", name, "runtimes", fmt.Sprint(i)}
		if c.reported.below(path...) {
			continue
		}
		c.checkQuota(path, job, quota, given)
		record := Record{Environment: c.document.Environment, Tenant: name, Runtime: runtime, Default: job.DefaultNodes}
		inQuota := job.SizeInQuota(quota)
		queues := c.sizesInQueues(path, tenant, job)
		for _, queue := range slices.Sorted(maps.Keys(queues)) {
			record.Queue = queue
			c.addRecord(record, job, inQuota, queues[queue], fmt.Sprint(values.Mapping(tenant, "queues")[queue]))
		}
		if len(queues) == 0 {
			c.addRecord(record, job, inQuota, sizing.Size{Nodes: job.MaxNodes}, "")
		}
	}
	return nil
}

// addRecord completes a record, and adds it to the result. The record gets the largest number of
// nodes that both the quota and the queue allow.
func (c *comparison) addRecord(r Record, job sizing.Job, inQuota, inQueue sizing.Size, clusterQueue string) {
	r.Nodes, r.Bound = inQuota.Nodes, quotaBound(inQuota.Limit)
	if inQueue.Nodes < inQuota.Nodes {
		r.Nodes, r.Bound = inQueue.Nodes, queueBound(clusterQueue, inQueue.Limit)
	}
	r.Fits = newVerdict(r.Nodes, job)
	c.Records = append(c.Records, r)
}

// checkQuota compares requests with the quota, for each resource. If the smallest TrainJob exceeds the quota,
// checkQuota reports a problem. If the smallest TrainJob fits but the default TrainJob exceeds the quota, checkQuota
// reports a note.
func (c *comparison) checkQuota(path []string, job sizing.Job, quota sizing.Amounts, given map[string]any) {
	exceeded := map[string]bool{}
	for _, s := range job.Shortages(quota, 1) {
		exceeded[s.Resource] = true
		c.report(&c.Problems, path, OverQuota, fmt.Sprintf("no TrainJob of this runtime can run: %s requests %s, and quota.%[3]s is %[4]v; raise quota.%[3]s, or lower the requests of the runtime",
			requester(s), sizing.Format(s.Resource, s.Requested), s.Resource, given[s.Resource]))
	}
	for _, s := range job.Shortages(quota, job.DefaultNodes) {
		if !exceeded[s.Resource] {
			c.report(&c.Notes, path, DefaultOverQuota, fmt.Sprintf("the default TrainJob of this runtime has %d nodes and requests %s, and quota.%[3]s is %[4]v: set fewer nodes in TrainJobs, or raise quota.%[3]s",
				job.DefaultNodes, sizing.Format(s.Resource, s.Requested), s.Resource, given[s.Resource]))
		}
	}
}

func requester(s sizing.Shortage) string {
	if s.Pod != "" {
		return "its " + s.Pod
	}
	return "its smallest TrainJob (a launcher and a node)"
}

func (c *comparison) report(list *problem.List, path []string, rule problem.Rule, message string) {
	*list = append(*list, problem.Problem{Position: c.document.Root.Locate(path...), Rule: rule, Path: problem.Path(path), Message: message})
}

// runtimeBound is the field that limits the number of nodes, unless a quota or a queue sets a smaller limit.
const runtimeBound = "limits.maxNodes"

func quotaBound(s sizing.Shortage) string {
	if s.Resource == "" {
		return runtimeBound
	}
	return "quota." + s.Resource
}
