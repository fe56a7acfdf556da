// Package gitbench measures what it costs to run the TrainJobs of Git repositories. It compares trainyard-controller with
// Flux's source-controller and kustomize-controller, on the same API server. Neither Trainer nor JobSet runs, so the
// TrainJobs create no pods, and stay as they were applied.
//
// `make bench-gitops` runs this benchmark. `make bench-jobs` measures trainyard-controller while it reports the state of
// thousands of TrainJobs.
package gitbench
