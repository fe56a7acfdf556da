// Package cluster brings up a real Kubernetes cluster on this machine. Its programs are those that tools/
// builds, and Debian packages: etcd, the API server, the controller manager, the scheduler, JobSet, Trainer
// and optionally Kueue. Clusters that run pods also have DNS, and nodes that each have a containerd, a
// kubelet and a bridge. Clusters that simulate pods have kwok. Once the programs are built, neither an
// image registry nor a network is needed.
//
// All servers run as daemons that outlive the program that called Up. They keep their files and logs in one
// folder, and listen on addresses of the loopback device or of the cluster's bridges. Down stops what Up
// started, nothing else, and restores the settings that Up changed.
//
// The command test/cluster/cmd/sandbox is the command line of this package; see docs/sandbox.md.
package cluster
