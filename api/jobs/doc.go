// Package jobs creates, reads, follows and deletes TrainJobs, for commands, servers and controllers. Other packages
// need to know neither the pod roles "launcher" and "node" nor the status fields of TrainJobs and JobSets.
package jobs
