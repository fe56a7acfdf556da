// Package trainjob implements the controller that reports the progress of TrainJobs to users and administrators: in
// events, in annotations on each TrainJob, and in metrics. The controller also suspends TrainJobs whose pods wait too
// long for cluster nodes, deletes TrainJobs some time after their end, and creates the NetworkPolicies that isolate
// TrainJobs. All other work on TrainJobs is left to Trainer, JobSet and Kueue. The controller writes no conditions into
// the status of a TrainJob, because Trainer overwrites the list of conditions.
package trainjob
