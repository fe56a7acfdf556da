// Package trainjob tells users and administrators what happens to TrainJobs: in events, in annotations on each TrainJob, and
// in metrics. The controller also suspends TrainJobs whose pods wait too long for cluster nodes, deletes TrainJobs some time
// after their end, and creates the NetworkPolicies that isolate TrainJobs. Package trainjob leaves all other work on
// TrainJobs to Trainer, JobSet and Kueue. The controller writes no conditions into a TrainJob, because Trainer replaces the
// list of conditions.
package trainjob
