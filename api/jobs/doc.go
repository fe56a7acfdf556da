// Package jobs creates, reads, follows and deletes TrainJobs, for commands, servers and controllers. Other packages
// can use package jobs without knowledge of the pod roles "launcher" and "node", or of the status fields of TrainJobs
// and JobSets.
package jobs
