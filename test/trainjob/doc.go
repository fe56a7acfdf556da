// Package trainjob tests the controller that reports the state of TrainJobs, on a real API server with Trainer and JobSet. The tests
// play the parts of the scheduler and the kubelet: they create pods and change the status of pods.
package trainjob
