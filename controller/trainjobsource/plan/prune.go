package plan

import (
	"cmp"
	"slices"
)

// prune adds deletions of runs to the plan. If the job is in Git, prune deletes the ended runs that exceed the history
// limits. If the job is not in Git, the prune policy decides. With Never, prune deletes no runs. With Always, prune
// deletes all runs of the job. With Finished, prune deletes the ended runs that exceed the history limits.
func (j *job) prune() {
	if !j.inGit && j.in.Policy.Prune == Never {
		return
	}
	if !j.inGit && j.in.Policy.Prune == Always {
		j.deleteAll(j.history.Runs)
		return
	}
	j.limit(Succeeded, j.in.Policy.Succeeded)
	j.limit(Failed, j.in.Policy.Failed)
}

// limit applies a history limit to the runs with the given final phase, Succeeded or Failed. It
// keeps the runs that ended last, up to the given number, and deletes the other runs.
func (j *job) limit(phase Phase, most int) {
	var ended []Run
	for _, run := range j.history.Runs {
		if t, exists := j.in.TrainJobs[run.Name]; exists && t.Phase == phase && !t.Deleting {
			ended = append(ended, run)
		}
	}
	slices.SortStableFunc(ended, func(a, b Run) int {
		return cmp.Or(cmp.Compare(j.in.TrainJobs[b.Name].Ended, j.in.TrainJobs[a.Name].Ended), cmp.Compare(b.Generation, a.Generation))
	})
	j.deleteAll(ended[min(most, len(ended)):])
}

// removedJobs is the maximum number of removed jobs in the record. A removed job is neither in Git nor in the cluster.
// Somebody may add a removed job to Git again. If the job is still in the record, its last version does not run again.
// There is one exception: if a plan deleted the run of this version while the run was active, the version runs again.
const removedJobs = 2000

// forget deletes jobs from a record that is too long. A removed job is neither in Git nor in the cluster. A record may
// contain at most 2000 removed jobs (see removedJobs). With this limit, the record fits into a ConfigMap. If the record
// contains more than 2000 removed jobs, forget keeps the 2000 jobs that were removed from Git most recently. forget
// deletes the other removed jobs from the record.
func (r Record) forget() {
	var removed []string
	for name, history := range r {
		if history.Removed > 0 && len(history.Runs) == 0 {
			removed = append(removed, name)
		}
	}
	slices.SortFunc(removed, func(a, b string) int {
		return cmp.Or(cmp.Compare(r[b].Removed, r[a].Removed), cmp.Compare(a, b))
	})
	for _, name := range removed[min(removedJobs, len(removed)):] {
		delete(r, name)
	}
}
