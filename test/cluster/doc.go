// Package cluster brings up a real Kubernetes cluster on this machine: etcd, the API server, the controller manager,
// the scheduler, JobSet, Trainer and optionally Kueue. The programs are built from tools/ or installed from Debian
// packages. A cluster that runs pods also has a DNS server, and each of its nodes has a containerd, a kubelet and a
// bridge. A cluster that simulates pods runs kwok instead of kubelets. After the programs are built, a cluster needs
// neither an image registry nor a network.
//
// In this package, a node is a Kubernetes node.
//
// All servers run as daemons that outlive the program that called Up. The servers keep their files and logs
// in one folder, and listen on addresses of the loopback device or of the cluster's bridges. Down stops only
// the servers that Up started, and restores the settings that Up changed.
//
// In a shell, use the command test/cluster/cmd/sandbox to bring up a cluster, and later to take the
// cluster down. See docs/sandbox.md.
package cluster
