// Package jobs creates, reads, follows and deletes TrainJobs, for commands, servers and controllers. Only this
// package knows the roles launcher and node, and the fields in which Trainer and JobSet report their state.
package jobs
