// Package trainjob tells users and administrators what happens to TrainJobs: in events, in two annotations on each TrainJob, and in
// metrics. It does not change what Trainer, JobSet and Kueue do. It writes no conditions, because Trainer replaces the list of
// conditions of a TrainJob.
package trainjob
