// Package kustomization builds the TrainJobs of a kustomization with kustomize's library.
//
// A tenant writes the kustomization, and the controller builds it in its own process. The package therefore allows only
// some fields of a kustomization. Some other fields could start programs, open network connections, read files outside
// the commit, or generate a very large output from a small input. Before the build, the package checks all files that
// the kustomization needs, and copies the files into a file system in memory. kustomize reads only the copies.
package kustomization
