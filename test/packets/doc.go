// Package packets contains tests of NetworkPolicies with real connections. Each pod, and each host outside the cluster,
// is a network namespace. The tests' own network namespace represents the machine that routes between pods and hosts. A
// real API server stores the Pods and policies. The policy agent is a program with the code of the project
// kube-network-policies. For each new connection, the policy agent decides whether to allow or drop this connection.
// The tests need neither a kubelet nor root. The folder test/e2e contains a test of network policies with real pods.
package packets
