// Package plan decides which TrainJobs of a TrainJobSource to create, delete and change.
//
// In this package, a TrainJob in Git is called a job, and each TrainJob that was created from it in the cluster is
// called a run of the job. The spec of a TrainJob cannot be changed, so each version of a job needs a run of its own.
// The controller stores a record, which lists the runs of all jobs. The record prevents a second run of the same
// version after the controller has crashed, or after somebody has deleted a TrainJob. There is one exception, which the
// documentation of package reconcile describes.
//
// The package has no side effects. The caller of the package reads the record, then the TrainJobs, and then calls Make.
// After Make, the caller first writes the new record, and then changes TrainJobs. A run is therefore in the record
// before it is in the cluster.
package plan
