// Package plan decides which TrainJobs of a TrainJobSource to create, delete and change.
//
// In this package, a TrainJob in Git is called a job, and each TrainJob that was created from it in the cluster is
// called a run of the job. The spec of a TrainJob cannot be changed, so each version of a job needs a run of its own.
// The record lists the runs of all jobs, so that no version runs twice if the controller crashes or somebody deletes
// a TrainJob. The documentation of package reconcile describes the only exception.
//
// The package has no side effects. The caller of the package reads the record, then the TrainJobs, and then calls Make.
// After Make, the caller first writes the new record, and then changes TrainJobs. A run is therefore in the record
// before it is in the cluster.
package plan
