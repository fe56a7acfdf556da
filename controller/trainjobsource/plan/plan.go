package plan

import (
	"cmp"
	"maps"
	"slices"
)

// Input is the state on which a plan depends.
type Input struct {
	Policy Policy
	Jobs   map[string]Job // the jobs in Git, by name
	// Incomplete is true if some files in Git have problems. A job that is missing in the field Jobs may be in a
	// file with a problem, so the plan does not change the runs of this job.
	Incomplete bool
	Record     Record
	// TrainJobs contains all TrainJobs of the namespace, by name. The record can mark a run as created although the
	// field TrainJobs lacks the TrainJob of the run. In this case, the function Make concludes that the TrainJob was
	// deleted. Therefore the caller must read the record before it reads the TrainJobs. In the reverse order, a
	// TrainJob that was created between the two reads could seem to be deleted.
	TrainJobs map[string]TrainJob
	// Taken contains the jobs that belong to other TrainJobSources in the namespace. The key is the name of the job,
	// and the value is the name of its TrainJobSource.
	Taken map[string]string
	Now   int64 // the time, in seconds since 1970
}

// WithoutNewRuns returns a copy of the input in which all jobs are denied. A plan for this copy starts no runs and
// replaces no runs. It still deletes ended runs that exceed the history limits and, if the prune policy requires it,
// the runs of removed jobs. It also updates labels and annotations.
func (in Input) WithoutNewRuns() Input {
	jobs := maps.Clone(in.Jobs)
	for name, job := range jobs {
		job.Denied = true
		jobs[name] = job
	}
	in.Jobs = jobs
	return in
}

// Plan contains the changes that make the cluster match Git.
type Plan struct {
	Record Record // the new record, which must be written before the cluster is changed
	Create []Create
	Delete []string // names of TrainJobs
	// Replaced contains the names of the jobs whose active runs are replaced by a new version. This plan deletes the
	// active runs, and a later plan starts the new version.
	Replaced []string
	Patch    []Patch
	States   map[string]State // the state of each job in Git, by name
}

// Create tells the caller to create the TrainJob of a run.
type Create struct {
	Job string
	Run Run
}

// Patch tells the caller to write the labels and annotations of a job to a TrainJob.
type Patch struct{ Job, TrainJob string }

// State says what the plan does with a job.
type State string

// The states of jobs.
const (
	Running    State = "Running"    // a run of the newest version is active, or about to start
	Ended      State = "Ended"      // the run of the newest version has ended
	Waiting    State = "Waiting"    // the newest version waits until earlier runs have ended
	Ignored    State = "Ignored"    // the job has changed in Git, and the change has no effect because OnChange is Ignore
	Duplicated State = "Duplicated" // another TrainJobSource has a job with this name
	Denied     State = "Denied"     // the version in Git must not run, and earlier runs stay as they are
)

// Make returns the plan for the next changes. The result of Make depends only on its input.
func Make(in Input) Plan {
	p := Plan{Record: Record{}, States: map[string]State{}}
	used := usedNames(in)
	found := runsInCluster(in.TrainJobs)
	for _, name := range jobNames(in) {
		j := job{plan: &p, in: in, name: name, found: found[name], used: used, history: in.Record[name]}
		j.git, j.inGit = in.Jobs[name]
		// If a job belongs to another TrainJobSource, the plan leaves the job unchanged in two cases. In the first
		// case, the folder of the plan's own TrainJobSource also contains the job. In the second case, a file in this
		// folder has a problem, so this file may contain the job. If neither case applies, the folder does not contain
		// the job. However, the plan's own TrainJobSource may still have runs of the job. The prune policy applies to
		// these runs.
		if _, taken := in.Taken[name]; taken && (j.inGit || in.Incomplete) {
			if j.inGit {
				p.States[name] = Duplicated
			}
			p.keepHistory(name, in.Record)
			continue
		}
		j.unreadable = in.Incomplete && !j.inGit
		j.make()
	}
	p.Record.forget()
	return p
}

// keepHistory copies the history of a job from the old record, if the old record has one.
func (p *Plan) keepHistory(name string, old Record) {
	if history, known := old[name]; known {
		p.Record[name] = history
	}
}

// jobNames returns the names of all jobs in Git, in the record and in the cluster, sorted.
func jobNames(in Input) []string {
	names := map[string]bool{}
	for name := range in.Jobs {
		names[name] = true
	}
	for name := range in.Record {
		names[name] = true
	}
	for _, t := range in.TrainJobs {
		if t.Job != "" {
			names[t.Job] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// usedNames returns the names that a new run cannot have: the names of all TrainJobs, and all reserved names.
func usedNames(in Input) map[string]bool {
	used := map[string]bool{}
	for name := range in.TrainJobs {
		used[name] = true
	}
	for _, history := range in.Record {
		for _, run := range history.Runs {
			if !run.Created {
				used[run.Name] = true
			}
		}
	}
	return used
}

// runsInCluster returns a map from each job to the runs of the job that exist in the cluster.
func runsInCluster(all map[string]TrainJob) map[string][]Run {
	runs := map[string][]Run{}
	for name, t := range all {
		if t.Job != "" {
			runs[t.Job] = append(runs[t.Job], Run{Name: name, Version: t.Version, Created: true})
		}
	}
	return runs
}

// job holds the data that is needed to plan the changes of one job.
type job struct {
	plan    *Plan
	in      Input
	name    string
	git     Job
	inGit   bool
	found   []Run
	used    map[string]bool
	history History

	unreadable bool // whether Git may contain the job in a file with a problem
}

// make adds the changes of one job to the plan. It first updates the record from the TrainJobs in the cluster. If a
// file in Git has a problem, the controller may be unable to read some jobs of this file. Suppose that a file has a
// problem, and that the controller has not found the job in any file. In this case, the file with the problem may
// contain the job, so the method adds no further changes. In all other cases, the method reserves a run if the version
// in Git must run now. The method then applies the prune policy and the history limits, and adds updates of labels and
// annotations.
func (j *job) make() {
	j.observe()
	if j.inGit {
		j.history.Removed = 0
	} else if j.history.Removed == 0 && !j.unreadable {
		j.history.Removed = j.in.Now
	}
	if j.unreadable {
		j.plan.Record[j.name] = j.history
		return
	}
	if j.inGit {
		j.plan.States[j.name] = j.start()
	}
	j.prune()
	if j.inGit {
		j.patch()
	}
	if j.history.Reserved > 0 { // a denied job that never ran has no history
		j.plan.Record[j.name] = j.history
	}
	for _, run := range j.history.Runs {
		if !run.Created && !j.git.Denied {
			j.plan.Create = append(j.plan.Create, Create{Job: j.name, Run: run})
		}
	}
}

// observe compares the runs in the record with the TrainJobs in the cluster. The method then changes the record as
// follows:
//   - A created run without a TrainJob in the cluster is removed from the record, because its TrainJob was deleted. The
//     version of this run does not run again, unless a plan has deleted the TrainJob before the run ended.
//   - A reserved run without a TrainJob is removed from the record if Git no longer contains the version of the run.
//   - Each TrainJob in the cluster is recorded as a created run. The record can lack the run if somebody has restored the
//     record from a backup, and can still list the run as reserved if the controller has crashed.
func (j *job) observe() {
	runs := slices.Clone(j.found)
	for _, run := range j.history.Runs {
		exists := slices.ContainsFunc(runs, func(r Run) bool { return r.Generation == run.Generation })
		if inGit := j.unreadable || j.inGit && run.Spec == j.git.Spec; !exists && !run.Created && inGit {
			runs = append(runs, j.reserveAgain(run))
		}
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Name, b.Name))
	})
	j.history.Runs = runs
	for _, run := range runs {
		if run.Created {
			j.adopt(run)
		}
	}
}

// adopt updates the record for a run that exists in the cluster. The field Newest of the history contains the newest
// version whose TrainJob was created. In two cases, the method overwrites the field Newest with the version of the run.
// In the first case, the generation of the run is higher than Newest.Generation. In the second case, the two
// generations are equal, but Newest.Spec is empty. Newest.Spec is empty because an earlier plan wanted to delete the
// run. However, this deletion was never carried out.
func (j *job) adopt(run Run) {
	newest := &j.history.Newest
	stays := run.Generation == newest.Generation && newest.Spec == "" && !j.in.TrainJobs[run.Name].Deleting
	if stays || run.Generation > newest.Generation {
		*newest = run.Version
	}
	j.history.Reserved = max(j.history.Reserved, run.Generation)
}

// reserveAgain keeps the reservation of a run that has no TrainJob yet, and returns this run. If another TrainJob has
// taken the reserved name in the meantime, the returned run has a new name.
func (j *job) reserveAgain(run Run) Run {
	if _, exists := j.in.TrainJobs[run.Name]; exists {
		run.Name = j.freeName(run.Version)
	}
	return run
}

// start decides whether the job needs a new run, and returns the state of the job. If the job needs a new run that can
// begin now, the method also reserves this run.
func (j *job) start() State {
	newest := j.newest()
	retried := j.git.wantsRetry(newest)
	changed := newest.Spec != "" && j.git.Spec != newest.Spec
	due := newest.Spec == "" || changed || retried
	active := j.active()
	switch {
	case changed && !retried && j.in.Policy.OnChange == Ignore:
		return Ignored
	case j.git.Denied && (due || j.reserved()):
		return Denied
	case !due:
		return stateOf(newest, active)
	}
	return j.startDue(newest, active)
}

// startDue reserves a run for the version in Git. With all policies except RunAlongside, the version must
// first wait until no earlier run is active. With the policy Replace, startDue plans the deletion of the
// active runs.
func (j *job) startDue(newest Version, active []Run) State {
	if j.in.Policy.OnChange == Replace {
		j.deleteAll(active)
	}
	if j.in.Policy.OnChange == Replace && len(active) > 0 {
		j.plan.Replaced = append(j.plan.Replaced, j.name)
	}
	if len(active) > 0 && j.in.Policy.OnChange != RunAlongside {
		return Waiting
	}
	j.reserve(newest)
	return Running
}

// newest returns the newest version whose run is reserved or created.
func (j *job) newest() Version {
	if j.reserved() {
		return j.history.Runs[len(j.history.Runs)-1].Version
	}
	return j.history.Newest
}

// reserved returns true if the newest run in the record is not yet marked as created.
func (j *job) reserved() bool {
	last := len(j.history.Runs) - 1
	return last >= 0 && !j.history.Runs[last].Created
}

// stateOf returns the state of a job whose newest version needs no new run. The state is Running while a run of
// this version is active, and Ended otherwise.
func stateOf(newest Version, active []Run) State {
	if slices.ContainsFunc(active, func(run Run) bool { return run.Generation == newest.Generation }) {
		return Running
	}
	return Ended
}

// reserve adds a new run to the record. The new run is for the version that Git contains.
func (j *job) reserve(newest Version) {
	j.history.Reserved++
	due := Version{
		Generation: j.history.Reserved, Spec: j.git.Spec,
		Retry: cmp.Or(j.git.Retry, newest.Retry), Request: cmp.Or(j.git.Request, newest.Request),
	}
	j.history.Runs = append(j.history.Runs, Run{Name: j.freeName(due), Version: due})
}

// active returns the runs that have not ended. A reserved run counts as active, because its TrainJob may exist soon. A
// run that is being deleted also counts as active, because its pods may still exist.
func (j *job) active() []Run {
	var active []Run
	for _, run := range j.history.Runs {
		if t, exists := j.in.TrainJobs[run.Name]; !exists || t.Phase == Active || t.Deleting {
			active = append(active, run)
		}
	}
	return active
}

// freeName returns a name for a new TrainJob. No other TrainJob has this name, and the name is not
// reserved for another run.
func (j *job) freeName(version Version) string {
	name := j.name
	for salt := 0; j.used[name]; salt++ {
		name = hashedName(j.name, version, salt)
	}
	j.used[name] = true
	return name
}

// deleteAll plans the deletion of the TrainJobs of the given runs. A reserved run may have no TrainJob yet. If its
// TrainJob is created later, a later plan deletes it.
func (j *job) deleteAll(runs []Run) {
	for _, run := range runs {
		t, exists := j.in.TrainJobs[run.Name]
		if !exists || t.Deleting {
			continue
		}
		j.plan.Delete = append(j.plan.Delete, run.Name)
		if t.Phase == Active && run.Generation == j.history.Newest.Generation {
			j.history.Newest.Spec = "" // the version was stopped before its end
		}
	}
}

// patch adds an update to the plan if the labels and annotations of a TrainJob differ from those of the job in Git. The
// TrainJob must belong to the newest version of the job, and must have the same spec as the job in Git.
func (j *job) patch() {
	for _, run := range j.history.Runs {
		t, exists := j.in.TrainJobs[run.Name]
		stays := exists && !t.Deleting && !slices.Contains(j.plan.Delete, run.Name)
		if stays && run.Generation == j.history.Newest.Generation && run.Spec == j.git.Spec && t.Metadata != j.git.Metadata {
			j.plan.Patch = append(j.plan.Patch, Patch{Job: j.name, TrainJob: run.Name})
		}
	}
}
