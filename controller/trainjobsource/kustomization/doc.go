// Package kustomization builds the TrainJobs of a kustomization with kustomize's library.
//
// A tenant writes the kustomization, and the controller builds it in its own process. The package therefore allows only
// fields that cannot start programs, open network connections, read files outside the commit, or multiply a small input.
// Before the build, it walks all files that the kustomization needs, checks them, and copies them into a file system in
// memory. kustomize sees only this copy.
package kustomization
