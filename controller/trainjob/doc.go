// Package trainjob tells users and administrators what happens to TrainJobs: in events, in annotations on each TrainJob, and
// in metrics. It also suspends TrainJobs whose pods wait too long for cluster nodes, deletes TrainJobs some time after their
// end, and creates the NetworkPolicies that isolate TrainJobs. It leaves all other work to Trainer, JobSet and Kueue. It
// writes no conditions, because Trainer replaces the list of conditions of a TrainJob.
package trainjob
