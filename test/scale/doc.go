// Package scale runs TrainJobs with generated runtimes on a cluster with simulated nodes and pods: jobs of
// many nodes, and jobs that wait for quota. Controllers, webhooks, the scheduler and Kueue are real. It
// needs no root and takes about a minute: `make scale` and `make kueue`.
package scale
