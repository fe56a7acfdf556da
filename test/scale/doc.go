// Package scale runs TrainJobs of many nodes by the runtimes that trainyard generates, on a
// cluster whose nodes and pods are simulated. All else is real: controllers, webhooks and the
// scheduler. It needs no root and takes a minute: `make scale`.
package scale
