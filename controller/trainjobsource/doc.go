// Package trainjobsource is the controller of TrainJobSources: it keeps the TrainJobs of a namespace as a Git repository
// describes them.
//
// The controller handles one TrainJobSource in a round. A round has these steps, each in the file of the same name:
//
//   - fetch gets the newest commit from the Git server, if a fetch is due.
//   - decode reads the TrainJobs of the commit.
//   - judge evaluates the rules of the platform.
//   - apply plans and carries out the changes, with package reconcile.
//   - status writes what happened into the status, if it has changed.
//
// The controller keeps only what it can find out again: the last commit of each TrainJobSource, and when the next fetch
// is due. What ran is in the record, which package reconcile writes.
package trainjobsource
