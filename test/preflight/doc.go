// Package preflight tests the scripts that pods run around mpirun, as they are rendered:
// real shells, real ssh and real sshd, in pods made of namespaces (see package jail).
//
// The tests play what is around the scripts. A job does what Trainer and JobSet do: keys, a
// hostfile, volumes, names that resolve. The jail does what the kubelet does.
package preflight
