// Package packets tries NetworkPolicies with connections. Network namespaces play the pods and the hosts
// around them, the namespace of the tests is the machine that joins them, a real API server
// holds Pods and policies, and the engine of kube-network-policies decides on every connection.
// There is no kubelet and no root; test/e2e has one case of it on real pods.
package packets
