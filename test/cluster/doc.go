// Package cluster brings up a real Kubernetes cluster on this machine, from programs that
// tools/ builds and Debian packages: etcd, the API server, the controller manager and the
// scheduler; where pods run, also nodes, each with containerd, a kubelet and a bridge of its
// own, and DNS; where they are simulated, kwok; and on them JobSet, Trainer and, if asked for,
// Kueue. No image registry and no network is needed once the programs are there.
//
// Everything runs as daemons that outlive the program that called Up, keeps its files and
// logs in one folder, and listens on addresses of the loopback device or of the cluster's
// bridges. Down ends what Up started, and nothing else, and puts back what it changed.
//
// The command test/cluster/cmd/sandbox is for people; docs/sandbox.md tells about it.
package cluster
