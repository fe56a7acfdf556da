// Package packets tests NetworkPolicies with real connections. Network namespaces represent the pods and
// the hosts around them, and the namespace of the tests represents the machine that routes between them. A
// real API server has the Pods and policies, and the agent of kube-network-policies allows or drops every
// connection. There is no kubelet, and root is not needed; test/e2e has one such test with real pods.
package packets
