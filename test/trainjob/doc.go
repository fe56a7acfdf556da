// Package trainjob tests the controller that reports the state of TrainJobs, on a real API server with Trainer and JobSet.
// The tests do the work of the Job controller, the scheduler and the kubelet: they create pods, assign them to a cluster
// node, and change their status.
package trainjob
