// Package gitops runs TrainJobs from Git in a sandbox, which is a Kubernetes cluster on this machine. The package adds
// four things to a running sandbox: a Git server with an empty repository, the objects of a platform with one tenant, a
// TrainJobSource for the repository, and trainyard-controller.
//
// trainyard-controller runs as a process of this machine, with the rights of its ServiceAccount. The command
// `sandbox` also lists and stops the Git server and trainyard-controller (see package cluster).
//
// The command test/gitops/cmd/gitops calls this package from a shell. See examples/gitops/README.md.
package gitops
