// Package gitbench measures the cost of running TrainJobs from Git repositories: CPU time, memory, API requests and
// delays. The benchmark compares trainyard-controller with Flux's source-controller and kustomize-controller, on the same
// API server. Neither Trainer nor JobSet runs, so the TrainJobs create no pods, and keep the state in which they were
// applied.
//
// `make bench-gitops` runs this benchmark. `make bench-jobs` measures trainyard-controller while it reports the state of
// thousands of TrainJobs.
package gitbench
