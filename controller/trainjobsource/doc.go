// Package trainjobsource is the controller of TrainJobSources: it makes the TrainJobs of a namespace match a Git
// repository.
//
// A round is one pass of the controller over one TrainJobSource. A round has these steps, each in the file of the same
// name:
//
//   - fetch gets the newest commit from the Git server, if a fetch is due.
//   - settled ends the round early if nothing has changed since the last comparison of the cluster with Git. This
//     comparison must be less than an hour old, and must have found nothing to do.
//   - decode reads the TrainJobs of the commit.
//   - judge evaluates the rules of the platform.
//   - apply plans and carries out the changes, with package reconcile.
//   - status writes the result of the round into the status, if the status has changed.
//
// In memory, the controller keeps only data that it can restore after a restart, such as the last commit of a
// TrainJobSource and the time of its next fetch. The list of the runs of a TrainJobSource must survive a
// restart. Package reconcile therefore stores this list in the cluster, in the record of the TrainJobSource.
package trainjobsource
