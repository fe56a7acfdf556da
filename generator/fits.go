package generator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/fit"
	"github.com/trainyard/trainyard/generator/problem"
)

var demandsPath = cue.ParsePath("demands")

// Rules about what a team may use, and what its runtimes ask for.
var (
	smallestFits = ruleOf("the smallest TrainJob fits the quota")
	defaultFits  = ruleOf("the default TrainJob fits the quota")
)

// demand is one entry of demands in fits.cue.
type demand struct {
	Nodes          int               `json:"nodes"`
	Most           int               `json:"most"`
	LauncherIsNode bool              `json:"launcherIsNode"`
	Together       bool              `json:"together"`
	Selector       map[string]string `json:"selector"`
	Before         []struct {
		Name    string         `json:"name"`
		Amounts map[string]any `json:"amounts"`
	} `json:"before"`
	Launcher  map[string]any `json:"launcher"`
	Own       []string       `json:"own"` // of what the launcher asks for, what is its own to say
	Node      map[string]any `json:"node"`
	Processes struct {
		Now   int `json:"now"`
		Least int `json:"least"`
		Most  int `json:"most"`
	} `json:"processes"`
}

// job reads the amounts of a demand.
func (d demand) job() (j fit.Job, err error) {
	j = fit.Job{Default: d.Nodes, Most: d.Most, LauncherIsNode: d.LauncherIsNode, Together: d.Together, Selector: d.Selector}
	if j.Launcher, err = fit.Read(d.Launcher, 1); err != nil {
		return j, err
	}
	if j.Node, err = fit.Read(d.Node, 1); err != nil {
		return j, err
	}
	for _, before := range d.Before {
		amounts, err := fit.Read(before.Amounts, 1)
		if err != nil {
			return j, err
		}
		j.Before = append(j.Before, fit.Pod{Name: before.Name, Amounts: amounts})
	}
	return j, nil
}

// Fit is how large the TrainJobs of a runtime can be in a tenant's namespace.
type Fit struct {
	Environment string  `json:"environment,omitempty"`
	Tenant      string  `json:"tenant"`
	Runtime     string  `json:"runtime"`
	Queue       string  `json:"queue,omitempty"` // the LocalQueue, where jobs wait in one
	Fits        Verdict `json:"fits"`
	Nodes       int     `json:"nodes"`   // at most, while nothing else runs
	Default     int     `json:"default"` // of a TrainJob that names no number
	Bound       string  `json:"bound"`   // what decides on the most, such as quota.cpu or limits.maxNodes
}

// Verdict is what fits.
type Verdict string

// Verdicts.
const (
	Default Verdict = "default" // a TrainJob that names no number of nodes
	Smaller Verdict = "smaller" // only one with fewer nodes than that
	Never   Verdict = "never"   // none
)

// verdictOn says what fits where so many nodes do, at most.
func verdictOn(nodes int, job fit.Job) Verdict {
	switch {
	case nodes == 0:
		return Never
	case nodes < job.Default:
		return Smaller
	}
	return Default
}

// Fits says how large the TrainJobs of each runtime can be in the namespace of each tenant that
// lists it. There may be fits beside an error that is a problem.List, about what never fits.
func (p *Pipeline) Fits(ctx context.Context, request Request) ([]Fit, error) {
	s, err := p.load(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	works, err := s.split(request.Environments)
	if err != nil {
		return nil, err
	}
	if err := checkAll(ctx, s, works); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	var problems findings
	var fits []Fit
	for _, w := range works {
		fits = append(fits, w.fits...)
		if err := problems.add(w.environment, w.err); err != nil {
			return nil, err
		}
	}
	return fits, problems.list(len(works)).Err()
}

// fitting compares what each tenant has with what its runtimes ask for.
type fitting struct {
	*work
	demands         map[string]demand
	jobs            map[string]fit.Job
	rooms           map[string]fit.Queue // of ClusterQueues, where they are what jobs wait for
	problems, notes problem.List
}

// fit finds what never fits, and what fits only if it is smaller than usual. Of a document that is
// not complete, it passes over runtimes that lack something.
func (w *work) fit(filled cue.Value, complete bool) (*fitting, error) {
	w.fits = nil
	f := &fitting{work: w, demands: map[string]demand{}, jobs: map[string]fit.Job{}}
	if gang := mappingAt(w.sound, "spec", "target")["gang"]; gang == "kueue" {
		if err := f.queues(); err != nil {
			return nil, err
		}
	}
	if err := f.read(filled.LookupPath(demandsPath), complete); err != nil {
		return nil, err
	}
	tenants := mappingAt(w.sound, "spec", "tenants")
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		if err := f.tenant(name, mappingAt(tenants, name)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// read reads what runtimes ask for.
func (f *fitting) read(demands cue.Value, complete bool) error {
	for entries := fieldsOf(demands); entries.Next(); {
		var d demand
		name, err := entries.Selector().Unquoted(), entries.Value().Validate(cue.Concrete(true))
		if err == nil {
			err = entries.Value().Decode(&d)
		}
		var job fit.Job
		if err == nil {
			job, err = d.job()
		}
		switch {
		case err == nil:
			f.demands[name], f.jobs[name] = d, job
		case complete:
			return bug("reading what "+name+" asks for", err)
		}
	}
	return nil
}

// tenant compares the runtimes that a tenant lists with what it has.
func (f *fitting) tenant(name string, tenant map[string]any) error {
	given := mappingAt(tenant, "quota")
	quota, err := fit.Read(given, 0)
	if err != nil {
		return bug("reading the quota of "+name, err)
	}
	runtimes, _ := tenant["runtimes"].([]any)
	for i, item := range runtimes {
		runtime, _ := item.(string)
		job, known := f.jobs[runtime]
		if !known {
			continue
		}
		path := []string{"spec", "tenants", name, "runtimes", fmt.Sprint(i)}
		f.held(path, job, quota, given)
		found := Fit{Environment: f.environment, Tenant: name, Runtime: runtime, Default: job.Default}
		inQuota := job.InQuota(quota)
		queues := f.admitted(path, tenant, job)
		for _, queue := range slices.Sorted(maps.Keys(queues)) {
			found.Queue = queue
			f.found(found, job, inQuota, queues[queue], fmt.Sprint(mappingAt(tenant, "queues")[queue]))
		}
		if len(queues) == 0 {
			f.found(found, job, inQuota, fit.Fit{Nodes: job.Most}, "")
		}
	}
	return nil
}

// found keeps a fit, of which the tighter bound decides.
func (f *fitting) found(found Fit, job fit.Job, inQuota, inQueue fit.Fit, clusterQueue string) {
	found.Nodes, found.Bound = inQuota.Nodes, quotaBound(inQuota.Bound)
	if inQueue.Nodes < inQuota.Nodes {
		found.Nodes, found.Bound = inQueue.Nodes, queueBound(clusterQueue, inQueue.Bound)
	}
	found.Fits = verdictOn(found.Nodes, job)
	f.fits = append(f.fits, found)
}

// held reports what a TrainJob exceeds of a quota: the smallest, or else the default one.
func (f *fitting) held(path []string, job fit.Job, quota fit.Amounts, given map[string]any) {
	exceeded := map[string]bool{}
	for _, s := range job.Over(quota, 1) {
		who := "its smallest TrainJob, a launcher and a node,"
		if s.Who != "" {
			who = "its " + s.Who
		}
		exceeded[s.Resource] = true
		f.say(&f.problems, path, smallestFits, fmt.Sprintf("can never run here: %s asks for %s, and quota.%s is %v",
			who, fit.Words(s.Resource, s.Asks), s.Resource, given[s.Resource]))
	}
	for _, s := range job.Over(quota, job.Default) {
		if !exceeded[s.Resource] {
			f.say(&f.notes, path, defaultFits, fmt.Sprintf("its default TrainJob of %d nodes asks for %s, and quota.%s is %v: it waits until somebody asks for fewer nodes",
				job.Default, fit.Words(s.Resource, s.Asks), s.Resource, given[s.Resource]))
		}
	}
}

func (f *fitting) say(list *problem.List, path []string, rule problem.Rule, message string) {
	*list = append(*list, f.toProblem(rule, finding{Path: path, Says: message}))
}

// runtimeBound is what decides where nothing of the tenant's does.
const runtimeBound = "limits.maxNodes"

// quotaBound names a bound of a namespace's quota, or the runtime's own.
func quotaBound(s fit.Shortage) string {
	if s.Resource == "" {
		return runtimeBound
	}
	return "quota." + s.Resource
}

// mappingAt follows keys through plain values; nil where there is no mapping.
func mappingAt(values map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		values, _ = values[key].(map[string]any)
	}
	return values
}
