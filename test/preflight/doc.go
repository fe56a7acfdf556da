// Package preflight tests the rendered scripts that pods run before and around mpirun: with real shells,
// real ssh and real sshd, in pods made of namespaces (see package podrunner).
//
// The tests provide the environment of the scripts. A job provides what Trainer and JobSet provide: keys, a
// hostfile, volumes and host names. Package podrunner does the work of the kubelet.
package preflight
