// Package jobs is what can be done with TrainJobs, for all who offer it: a command, a server,
// a controller. It alone knows what launcher and node mean, and where Trainer and JobSet
// write down what became of them.
package jobs
