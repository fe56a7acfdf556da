package matrix

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestCanConnect(t *testing.T) {
	from := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "launcher", Labels: map[string]string{"role": "launcher"}}}
	to := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "node", Labels: map[string]string{"role": "node"}}}
	const deny = `{podSelector: {}, policyTypes: [Ingress, Egress]}`
	for name, tc := range map[string]struct {
		policies []string
		want     bool
	}{
		"no policy":              {nil, true},
		"deny all":               {[]string{deny}, false},
		"egress only":            {[]string{deny, `{podSelector: {}, policyTypes: [Egress], egress: [{}]}`}, false},
		"both directions":        {[]string{deny, `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}], egress: [{}]}`}, true},
		"another pod":            {[]string{deny, `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}], egress: [{to: [{podSelector: {matchLabels: {role: other}}}]}]}`}, false},
		"another port":           {[]string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{protocol: TCP, port: 22}]}]}`}, false},
		"a range of ports":       {[]string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{protocol: TCP, port: 2000, endPort: 3000}]}]}`}, true},
		"another protocol":       {[]string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{protocol: UDP, port: 2222}]}]}`}, false},
		"an address":             {[]string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}`}, false},
		"a policy of other pods": {[]string{`{podSelector: {matchLabels: {role: other}}, policyTypes: [Ingress]}`}, true},
	} {
		var policies []networkingv1.NetworkPolicy
		for _, spec := range tc.policies {
			policy := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}
			if err := yaml.UnmarshalStrict([]byte(spec), &policy.Spec); err != nil {
				t.Fatal(err)
			}
			policies = append(policies, policy)
		}
		if err := CanConnect(policies, from, to, 2222); (err == nil) != tc.want {
			t.Errorf("%s: got %v, want a connection: %t", name, err, tc.want)
		}
	}
}
