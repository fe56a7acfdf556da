// Package packets tests NetworkPolicies with real connections. A network namespace represents each pod and each host
// outside the cluster. The network namespace of the tests represents the machine that routes between the pods and
// hosts. A real API server stores the Pods and policies, and the agent of kube-network-policies allows or drops every
// connection. The tests need neither a kubelet nor root. A similar test with real pods is in test/e2e.
package packets
