// Package trainjobsource is the controller of TrainJobSources: it makes the TrainJobs of a namespace match a Git
// repository.
//
// The controller handles one TrainJobSource in a round. A round has these steps, each in the file of the same name:
//
//   - fetch gets the newest commit from the Git server, if a fetch is due.
//   - settled ends the round early if nothing has changed since a complete round that found nothing to do.
//   - decode reads the TrainJobs of the commit.
//   - judge evaluates the rules of the platform.
//   - apply plans and carries out the changes, with package reconcile.
//   - status writes the result of the round into the status, if the status has changed.
//
// The memory of the controller contains only values that the controller can find out again after a restart.
// Examples of such values are the last commit of a TrainJobSource, which can be dropped to save memory, and the
// time of its next fetch. The record of a TrainJobSource lists the runs of the TrainJobSource. The package
// reconcile writes the record.
package trainjobsource
