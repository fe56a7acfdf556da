// Package preflight tests the rendered scripts that pods run before and around mpirun. The tests use real shells,
// real ssh and real sshd. The package podrunner runs the pods in Linux namespaces.
//
// The tests provide the environment of the scripts. The type job provides what Trainer and JobSet provide in a
// cluster: keys, a hostfile, volumes and host names. Package podrunner does the work of the kubelet.
package preflight
