// Package e2e runs MPI jobs in real pods, by the runtimes that trainyard generates: what a
// person would do, on the cluster of test/cluster and with the images of test/images.
//
// It needs root and takes minutes, so it is a lane of its own: `make e2e`. A cluster that is
// up stays up, which makes the next run fast; otherwise one comes and goes with the tests.
package e2e
