// Package preflight tests the shell scripts in the pods of a runtime. The runtime comes from bundles/rendered. One of
// the scripts is the preflight check: it checks by SSH that the launcher can reach all hosts. The tests use real
// shells, ssh and sshd.
//
// The type "job" provides the keys, hostfile, volumes and host names that Trainer and JobSet provide in a cluster.
// Package podrunner does the work of the kubelet: it runs containers in Linux namespaces.
package preflight
