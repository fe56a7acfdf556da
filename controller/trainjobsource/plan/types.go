package plan

import (
	"maps"
	"slices"
)

// OnChange decides when a new version of a job runs, and whether the runs of earlier versions are
// deleted.
type OnChange string

// The values of OnChange.
const (
	Queue        OnChange = "Queue"        // the new version waits until all runs of the job have ended
	RunAlongside OnChange = "RunAlongside" // the new version runs at once, beside the runs of earlier versions
	Replace      OnChange = "Replace"      // active runs of earlier versions are deleted, and then the new version runs
	Ignore       OnChange = "Ignore"       // only the first version runs
)

// Prune decides which runs are deleted after their job was removed from Git.
type Prune string

// The values of Prune.
const (
	Never    Prune = "Never"    // no run is deleted
	Finished Prune = "Finished" // active runs continue; ended runs are deleted if they exceed the history limits
	Always   Prune = "Always"   // all runs are deleted, even active runs
)

// Policy contains the settings of a TrainJobSource that affect a plan.
type Policy struct {
	OnChange OnChange
	Prune    Prune
	// Succeeded and Failed are the history limits. They state how many succeeded runs and how many failed runs of each
	// job stay in the cluster.
	Succeeded, Failed int
}

// Job is a TrainJob in Git.
type Job struct {
	Name     string // metadata.name
	Spec     string // the digest of the spec, with defaults, without fields that can be changed later
	Metadata string // the digest of the labels and annotations
	// Retry is a text in an annotation of the TrainJob in Git, and Request is a text in an annotation of the
	// TrainJobSource. If an annotation is missing, its text is empty. If one of the texts gets a new value that is not
	// empty, the job runs again, even if its spec is unchanged.
	Retry, Request string
	Denied         bool // the rules of the platform forbid the TrainJob, so no run of this version starts
}

// Phase is the state of a TrainJob in the cluster.
type Phase string

// The phases. The phase Active also includes suspended and pending TrainJobs.
const (
	Active    Phase = "Active"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// TrainJob is a TrainJob in the namespace of the TrainJobSource.
type TrainJob struct {
	Phase    Phase
	Deleting bool   // the TrainJob has a deletion timestamp
	Ended    int64  // when the TrainJob succeeded or failed, in seconds since 1970
	Metadata string // the digest of the labels and annotations from Git
	// Job is the name of the job, which is the key in Record. Job is empty if the TrainJob does not belong to this
	// TrainJobSource. A TrainJob of this TrainJobSource runs one version of its job. The field Version contains this
	// version.
	Job     string
	Version Version
}

// Version identifies one version of a job. If a user requests a repetition of a job, the repetition
// also counts as a new version.
type Version struct {
	Generation int    `json:"generation"`     // counts the versions of the job, from 1
	Spec       string `json:"spec,omitempty"` // Job.Spec of this version
	// Retry and Request hold the values of Job.Retry and Job.Request for this version of the job. If Job.Retry is
	// empty, Retry is copied from the previous version instead. If Job.Request is empty, Request is copied from the
	// previous version instead.
	Retry   string `json:"retry,omitempty"`
	Request string `json:"request,omitempty"`
}

// wantsRetry reports whether users have requested another run of the job. The result is true if the job's field Retry
// is not empty, and differs from the field Retry of the last version. The result is also true if the job's field
// Request is not empty, and differs from the field Request of the last version.
func (j Job) wantsRetry(last Version) bool {
	return j.Retry != "" && j.Retry != last.Retry || j.Request != "" && j.Request != last.Request
}

// Run is a TrainJob in the record.
type Run struct {
	Name string `json:"name"` // metadata.name of the TrainJob
	Version
	// Created is false while the name of the run is only reserved. The TrainJob of a reserved run
	// may or may not exist.
	Created bool `json:"created,omitempty"`
}

// History is the record of one job.
type History struct {
	// Newest is the newest version whose TrainJob was created. If a plan decides to delete the TrainJob of this version
	// while the TrainJob is active, Newest.Spec becomes empty. If Newest.Spec is empty and the job is in Git, the job
	// runs again.
	Newest Version `json:"newest"`
	// Reserved is the highest generation that was ever reserved. No generation is used twice.
	Reserved int   `json:"reserved"`
	Runs     []Run `json:"runs,omitempty"` // runs that may exist in the cluster, oldest first
	// Removed is the time, in seconds since 1970, at which a plan found that Git no longer contains the job.
	// The field Removed is 0 while Git contains the job.
	Removed int64 `json:"removed,omitempty"`
}

// Record contains the history of each job. The key is the name of the job.
type Record map[string]History

// Confirmed returns a copy of the record in which the given runs are marked as created.
func (r Record) Confirmed(created []Create) Record {
	confirmed := maps.Clone(r)
	for _, c := range created {
		history := confirmed[c.Job]
		history.Runs = slices.Clone(history.Runs)
		for i := range history.Runs {
			if history.Runs[i].Generation == c.Run.Generation {
				history.Runs[i].Created = true
			}
		}
		if c.Run.Generation > history.Newest.Generation {
			history.Newest = c.Run.Version
		}
		confirmed[c.Job] = history
	}
	return confirmed
}
