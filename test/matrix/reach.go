package matrix

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CanConnect checks whether network policies allow a TCP connection from one pod to another pod in the same namespace.
// It reads only the policies, and opens no connection. It returns an error if the policies prevent the connection to
// the given port. In a policy, an empty pod selector selects all pods. A peer with an IP block or a namespace selector
// counts as a peer that selects no pod. Source: the documentation of Kubernetes about network policies.
func CanConnect(policies []networkingv1.NetworkPolicy, from, to *corev1.Pod, port int32) error {
	for _, side := range []struct {
		direction networkingv1.PolicyType
		pod, peer *corev1.Pod
	}{{networkingv1.PolicyTypeEgress, from, to}, {networkingv1.PolicyTypeIngress, to, from}} {
		isolated, allowed := false, false
		for _, policy := range policies {
			if policy.Namespace != side.pod.Namespace || !selects(&policy.Spec.PodSelector, side.pod) || !slices.Contains(policy.Spec.PolicyTypes, side.direction) {
				continue
			}
			isolated = true
			allowed = allowed || allowsPeer(policy.Spec, side.direction, side.peer, port)
		}
		if isolated && !allowed {
			return fmt.Errorf("no network policy allows the %s of %s to %s on port %d", side.direction, from.Name, to.Name, port)
		}
	}
	return nil
}

// allowsPeer reports whether a rule of a network policy allows a connection with the given pod at
// the given port.
func allowsPeer(spec networkingv1.NetworkPolicySpec, direction networkingv1.PolicyType, peer *corev1.Pod, port int32) bool {
	if direction == networkingv1.PolicyTypeEgress {
		return slices.ContainsFunc(spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
			return matchesPeer(rule.To, peer) && matchesPort(rule.Ports, port)
		})
	}
	return slices.ContainsFunc(spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
		return matchesPeer(rule.From, peer) && matchesPort(rule.Ports, port)
	})
}

func matchesPeer(peers []networkingv1.NetworkPolicyPeer, pod *corev1.Pod) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(peer networkingv1.NetworkPolicyPeer) bool {
		return peer.IPBlock == nil && peer.NamespaceSelector == nil && peer.PodSelector != nil && selects(peer.PodSelector, pod)
	})
}

func matchesPort(ports []networkingv1.NetworkPolicyPort, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(allowed networkingv1.NetworkPolicyPort) bool {
		if allowed.Protocol != nil && *allowed.Protocol != corev1.ProtocolTCP {
			return false
		}
		if allowed.Port == nil {
			return true
		}
		last := allowed.Port.IntVal
		if allowed.EndPort != nil {
			last = *allowed.EndPort
		}
		return allowed.Port.Type == intstr.Int && allowed.Port.IntVal <= port && port <= last
	})
}

func selects(selector *metav1.LabelSelector, pod *corev1.Pod) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(pod.Labels))
}
