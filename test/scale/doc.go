// Package scale runs TrainJobs on a cluster that simulates cluster nodes and pods. The TrainJobs use generated runtimes.
// `make scale` runs TrainJobs with many nodes, and `make kueue` runs TrainJobs that wait for quota. The tests use real
// controllers and webhooks, the real scheduler and the real Kueue. The tests need no root privileges, and take about a
// minute.
package scale
