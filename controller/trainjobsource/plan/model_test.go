package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// modelSteps is the number of random steps for each policy.
const modelSteps = 10_000

// TestRandomHistories changes Git and the cluster at random, and carries out plans between the changes. The test
// sometimes stops in the middle of a plan, as if the controller crashed. The type "world" checks each change that a plan
// causes.
func TestRandomHistories(t *testing.T) {
	for _, onChange := range []OnChange{Queue, RunAlongside, Replace, Ignore} {
		for _, prune := range []Prune{Never, Finished, Always} {
			t.Run(fmt.Sprintf("%s, %s", onChange, prune), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, Policy{OnChange: onChange, Prune: prune, Succeeded: 1, Failed: 2})
				for step := range modelSteps {
					w.step()
					if step%50 == 0 {
						w.settle()
					}
					if t.Failed() {
						t.Fatalf("failed at step %d", step)
					}
				}
				if len(w.runs) < modelSteps/50 {
					t.Errorf("only %d runs in %d steps", len(w.runs), modelSteps)
				}
			})
		}
	}
}

// The struct "created" describes a TrainJob that a plan has created.
type created struct {
	job, spec      string
	retry, request string
	generation     int
	stopped        bool // a plan wanted to delete it before its end
	recorded       bool // the record says that the TrainJob was created
}

// world simulates Git and a cluster.
type world struct {
	t       *testing.T
	random  *rand.Rand
	policy  Policy
	git     map[string]Job
	record  Record
	cluster map[string]TrainJob
	runs    []*created
	byName  map[string]*created // the runs whose TrainJobs exist
	clock   int64

	settling bool   // whether all files in Git are readable, and all jobs are allowed
	denied   string // the job that the rules forbid now, or ""
}

func newWorld(t *testing.T, policy Policy) *world {
	return &world{
		t: t, random: rand.New(rand.NewPCG(1, 2)), policy: policy,
		git: map[string]Job{}, record: Record{}, cluster: map[string]TrainJob{}, byName: map[string]*created{},
	}
}

// step makes one random step: a change in Git or in the cluster, or a plan that is carried out.
func (w *world) step() {
	w.clock++
	name := "job" + strconv.Itoa(w.random.IntN(3))
	job, inGit := w.git[name]
	if !inGit {
		job = Job{Name: name, Spec: "0"}
	}
	switch w.random.IntN(13) {
	case 0, 1:
		job.Spec = strconv.Itoa(w.random.IntN(3))
		w.git[name] = job
	case 2:
		job.Metadata = strconv.Itoa(w.random.IntN(3))
		w.git[name] = job
	case 3:
		job.Retry = strconv.Itoa(w.random.IntN(3))
		w.git[name] = job
	case 4:
		delete(w.git, name)
	case 5:
		w.end(Succeeded)
	case 6:
		w.end(Failed)
	case 7:
		w.deleteAsUser()
	case 8:
		w.occupy(name)
	case 9:
		w.reconcile(w.random.IntN(4)) // a crash
	case 10:
		job.Request = strconv.Itoa(w.random.IntN(3))
		w.git[name] = job
	default:
		w.reconcile(-1)
	}
}

func (w *world) pick(allowed func(name string, t TrainJob) bool) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(w.cluster)) {
		if allowed(name, w.cluster[name]) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[w.random.IntN(len(names))]
}

func (w *world) end(phase Phase) {
	name := w.pick(func(_ string, t TrainJob) bool { return t.Phase == Active })
	if t, exists := w.cluster[name]; exists {
		t.Phase, t.Ended = phase, w.clock
		w.cluster[name] = t
	}
}

// deleteAsUser deletes a random TrainJob. If a plan has created a TrainJob, deleteAsUser can delete the TrainJob only
// after the record has marked it as created. If deleteAsUser deleted the TrainJob earlier, the controller would create
// the TrainJob a second time, and the test would fail. This second creation is a known limitation. It happens if the
// controller crashes right after the creation of a TrainJob, and a user deletes the TrainJob before the controller
// restarts.
func (w *world) deleteAsUser() {
	name := w.pick(func(name string, _ TrainJob) bool { return w.byName[name] == nil || w.byName[name].recorded })
	delete(w.cluster, name)
	delete(w.byName, name)
}

// occupy creates a TrainJob that has the name of a job, but belongs to somebody else.
func (w *world) occupy(name string) {
	if _, exists := w.cluster[name]; !exists {
		w.cluster[name] = TrainJob{Phase: Active}
	}
}

// reconcile makes a plan and begins to carry it out. reconcile stops after the given number of writes, as if the
// controller crashed. If the argument "writes" is negative, reconcile carries out the whole plan.
func (w *world) reconcile(writes int) {
	jobs, incomplete := w.readableJobs()
	plan := Make(Input{Policy: w.policy, Jobs: jobs, Incomplete: incomplete, Record: w.record, TrainJobs: w.cluster})
	for name, history := range plan.Record {
		if history.Reserved < 1 {
			w.t.Errorf("the record of %s cannot be read again: %+v", name, history)
		}
	}
	changes := []func(){func() {
		w.record = plan.Record
		w.markRecorded()
		for _, name := range plan.Delete {
			if run := w.byName[name]; run != nil && w.cluster[name].Phase == Active {
				run.stopped = true // even if the controller crashes before the deletion, and a user then deletes the TrainJob
			}
		}
	}}
	for _, c := range plan.Create {
		changes = append(changes, func() { w.create(c) })
	}
	for _, name := range plan.Delete {
		changes = append(changes, func() { w.delete(name) })
	}
	for _, p := range plan.Patch {
		changes = append(changes, func() { w.patch(p) })
	}
	changes = append(changes, func() {
		w.record = w.record.Confirmed(plan.Create)
		w.markRecorded()
	})
	if writes >= 0 {
		changes = changes[:min(writes, len(changes))]
	}
	for _, change := range changes {
		change()
	}
	w.checkQueue()
}

func (w *world) markRecorded() {
	for _, run := range w.byName {
		run.recorded = true
	}
}

// readableJobs returns the jobs that a round can read from Git. While w.settling is false, about one call in eight
// leaves out a job, as if its file had a problem. In addition, about one call in eight marks a job as denied by
// the rules.
func (w *world) readableJobs() (jobs map[string]Job, incomplete bool) {
	jobs, w.denied = maps.Clone(w.git), ""
	if !w.settling && w.random.IntN(8) == 0 {
		w.denied = "job" + strconv.Itoa(w.random.IntN(3))
		if job, inGit := jobs[w.denied]; inGit {
			job.Denied = true
			jobs[w.denied] = job
		}
	}
	if !w.settling && w.random.IntN(8) == 0 {
		delete(jobs, "job"+strconv.Itoa(w.random.IntN(3)))
		return jobs, true
	}
	return jobs, false
}

// create adds a TrainJob to the simulated cluster. It also checks that the controller has not
// already run the same version of the job.
func (w *world) create(c Create) {
	if _, exists := w.cluster[c.Run.Name]; exists {
		w.t.Errorf("create %s: the name is in use", c.Run.Name)
		return
	}
	job, inGit := w.git[c.Job]
	if !inGit || job.Spec != c.Run.Spec {
		w.t.Errorf("create %+v: Git has %+v", c, job)
	}
	if c.Job == w.denied {
		w.t.Errorf("create %+v: the rules forbid the job", c)
	}
	run := &created{job: c.Job, spec: c.Run.Spec, retry: c.Run.Retry, request: c.Run.Request, generation: c.Run.Generation}
	var last *created
	for _, r := range w.runs {
		if r.job != c.Job {
			continue
		}
		last = r
		if r.generation >= run.generation {
			w.t.Errorf("create %+v: generation %d has run before", c, r.generation)
		}
	}
	if last != nil && last.spec == run.spec && last.retry == run.retry && last.request == run.request && !last.stopped {
		w.t.Errorf("create %+v: the same version has run before", c)
	}
	w.runs = append(w.runs, run)
	w.byName[c.Run.Name] = run
	w.cluster[c.Run.Name] = TrainJob{Phase: Active, Job: c.Job, Version: c.Run.Version, Metadata: job.Metadata}
}

// delete removes a TrainJob from the simulated cluster, and checks that the policy allows this deletion.
func (w *world) delete(name string) {
	t, run := w.cluster[name], w.byName[name]
	if run == nil {
		w.t.Errorf("delete %s: the TrainJob belongs to somebody else", name)
		return
	}
	_, inGit := w.git[run.job]
	if t.Phase == Active {
		if allowed := inGit && w.policy.OnChange == Replace && run.job != w.denied || !inGit && w.policy.Prune == Always; !allowed {
			w.t.Errorf("delete %s: the TrainJob runs", name)
		}
	} else if !inGit && w.policy.Prune == Never {
		w.t.Errorf("delete %s: the job is not in Git, and all its runs should stay", name)
	}
	delete(w.cluster, name)
	delete(w.byName, name)
}

func (w *world) patch(p Patch) {
	t := w.cluster[p.TrainJob]
	if w.byName[p.TrainJob] == nil || t.Job != p.Job {
		w.t.Errorf("patch %+v: the TrainJob belongs to somebody else", p)
	}
	t.Metadata = w.git[p.Job].Metadata
	w.cluster[p.TrainJob] = t
}

// checkQueue checks that at most one run of each job is active, unless the policy is RunAlongside.
func (w *world) checkQueue() {
	active := map[string][]string{}
	for name, t := range w.cluster {
		if t.Job != "" && t.Phase == Active {
			active[t.Job] = append(active[t.Job], name)
		}
	}
	for job, names := range active {
		if len(names) > 1 && w.policy.OnChange != RunAlongside {
			w.t.Errorf("the runs %v of %s are active at the same time", names, job)
		}
	}
}

// settle repeatedly marks all active TrainJobs as succeeded and carries out a new plan, until nothing changes. settle
// then checks that each job in Git has run. The last run must have the spec that is in Git, unless the policy is
// Ignore. settle also checks the record, which must list the TrainJobs of all jobs and mark them as created.
func (w *world) settle() {
	w.settling = true
	defer func() { w.settling = false }()
	for round := 0; ; round++ {
		for name, t := range w.cluster {
			if t.Phase == Active {
				t.Phase, t.Ended = Succeeded, w.clock
				w.cluster[name] = t
			}
		}
		before := fmt.Sprint(w.record, w.cluster)
		w.reconcile(-1)
		if fmt.Sprint(w.record, w.cluster) == before {
			break
		}
		if round == 10 {
			w.t.Error("plans do not come to an end")
			return
		}
	}
	for name, job := range w.git {
		last := ""
		for _, r := range w.runs {
			if r.job == name {
				last = r.spec
			}
		}
		if last != job.Spec && w.policy.OnChange != Ignore || last == "" {
			w.t.Errorf("the last run of %s has spec %q, but Git has %q", name, last, job.Spec)
		}
	}
	for name, t := range w.cluster {
		if t.Job == "" {
			continue
		}
		if !slices.ContainsFunc(w.record[t.Job].Runs, func(r Run) bool { return r.Name == name && r.Created }) {
			w.t.Errorf("the record of %s lacks %s", t.Job, name)
		}
	}
}
