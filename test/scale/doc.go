// Package scale runs TrainJobs by the runtimes that trainyard generates on a cluster whose
// nodes and pods are simulated: jobs of many nodes, and jobs that wait for quota. All else is
// real: controllers, webhooks, the scheduler and Kueue. It needs no root and takes a minute:
// `make scale` and `make kueue`.
package scale
