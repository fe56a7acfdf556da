// Package e2e runs MPI jobs in real pods, with generated runtimes, on the cluster of test/cluster and with
// the images of test/images.
//
// `make e2e` runs the tests, which need root and take minutes. If a cluster is up, the tests use it and leave it up,
// so that the next run is faster. If no cluster is up, the tests bring up a cluster, and take it down at the end.
package e2e
