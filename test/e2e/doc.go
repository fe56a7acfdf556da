// Package e2e runs MPI jobs in real pods, with generated runtimes, on the cluster of test/cluster and with
// the images of test/images.
//
// `make e2e` runs it: it needs root and takes minutes. A cluster that is up stays up, which makes the next
// run faster; otherwise the tests bring one up and take it down.
package e2e
