// Package preflight tests the scripts that the pods of a rendered runtime run, such as the preflight check. The tests
// use real shells, real ssh and real sshd.
//
// The type "job" provides the keys, hostfile, volumes and host names that Trainer and JobSet provide in a cluster.
// Package podrunner does the work of the kubelet: it runs containers in Linux namespaces.
package preflight
