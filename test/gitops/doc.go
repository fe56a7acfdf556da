// Package gitops runs TrainJobs from Git in a sandbox. It adds a Git server with an empty repository, the objects of a
// platform with one tenant, a TrainJobSource of the repository, and trainyard-controller.
//
// The controller runs as a process of this machine, with the rights of its ServiceAccount. The sandbox's own command
// lists the two servers and stops them, see package cluster.
//
// The command test/gitops/cmd/gitops calls this package from a shell. See examples/gitops/README.md.
package gitops
