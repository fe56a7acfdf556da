//go:build linux

package packets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/test/controlplane"
)

const (
	launcherA = "launcher of job a, team-vision"
	nodeA     = "node of job a, team-vision"
	nodeB     = "node of job b, team-vision"
	notebook  = "notebook, team-vision"
	launcherC = "launcher of job c, team-speech"
	nodeC     = "node of job c, team-speech"
	nodeD     = "node of job d, team-legacy"
	elsewhere = "elsewhere"

	// otherInKubeSystem and otherInMLflow are pods in the same namespaces as allowed destinations, but with other
	// labels.
	otherInKubeSystem = "kube-proxy"
	otherInMLflow     = "database"
)

// TestOnlyDocumentedConnectionsPass has subtests whose order matters, because the test starts the policy agent and
// applies policies between the subtests.
func TestOnlyDocumentedConnectionsPass(t *testing.T) {
	w := newTestbed(t)
	t.Run("no connection passes without the policy agent", func(t *testing.T) {
		w.checkConnection(t, launcherA, nodeA, "2222/tcp", false)
	})
	w.startAgent(t)
	t.Run("every connection passes without policies", func(t *testing.T) {
		controlplane.Eventually(t, func(context.Context) error { // the check fails until the agent has started
			return w.check(t, launcherA, nodeA, "2222/tcp", true)
		})
		for from, reached := range w.openPorts(t) {
			for to, open := range reached {
				if len(open) != len(listenPorts) {
					t.Errorf("%s reaches %s at ports %v, want all ports", from, to, open)
				}
			}
		}
	})
	if err := w.Apply(t.Context(), objectsByKind(t, anyPort)["NetworkPolicy"]...); err != nil {
		t.Fatal(err)
	}
	t.Run("connections match the table in the documentation", func(t *testing.T) {
		w.await(t, launcherA, elsewhere, false)
		w.await(t, launcherC, elsewhere, false)
		expectTable(t, w.formatTable(t))
	})
	t.Run("policies select pods of a namespace by labels", func(t *testing.T) {
		w.checkConnection(t, launcherA, otherInKubeSystem, "53/udp", false)
		w.checkConnection(t, launcherA, otherInMLflow, "5000/tcp", false)
		w.checkConnection(t, notebook, otherInMLflow, "5000/tcp", true)
	})
	t.Run("network policy conflicts", w.testConflicts)
	t.Run("mpirun works under default deny", func(t *testing.T) { runMPI(t, anyPort, w.findHost(t, launcherA), w.findHost(t, nodeA)) })
	t.Run("pods reach each other at the document's ports", w.testPortRange)
}

// testPortRange: if a document has a range of ports for MPI, only these ports and the port of sshd may be open.
func (w *testbed) testPortRange(t *testing.T) {
	wants := map[string]bool{
		"2222/tcp": true, "20000/tcp": true, "25000/tcp": true, "29999/tcp": true,
		"2221/tcp": false, "2223/tcp": false, "19999/tcp": false, "30000/tcp": false, "40000/tcp": false, "25000/udp": false,
	}
	launcher := &host{name: "launcher of job e, team-ports", namespace: "team-ports", labels: ofJob("e", "launcher"), address: "10.77.6.1"}
	node := &host{name: "node of job e, team-ports", namespace: "team-ports", labels: ofJob("e", "node"), address: "10.77.6.2"}
	for _, h := range []*host{launcher, node} {
		w.addHost(t, h, slices.Sorted(maps.Keys(wants)))
	}
	for port := range wants {
		if !launcher.canReach(t, node.address, port) {
			t.Fatalf("%s is closed while there are no policies", port)
		}
	}
	if err := w.Apply(t.Context(), objectsByKind(t, pinned)["NetworkPolicy"]...); err != nil {
		t.Fatal(err)
	}
	w.await(t, launcher.name, elsewhere, false)
	for port, want := range wants {
		w.checkConnection(t, launcher.name, node.name, port, want)
		w.checkConnection(t, node.name, launcher.name, port, want)
	}
	launcher.closeListeners()
	runMPI(t, pinned, launcher, node)
}

// testConflicts adds network policies that trainyard has not generated, and checks which connections still pass.
func (w *testbed) testConflicts(t *testing.T) {
	t.Run("an existing default-deny policy does not affect MPI", func(t *testing.T) {
		w.apply(t, newPolicy("team-vision", "default-deny", nil, nil, nil))
		w.await(t, notebook, elsewhere, false)
		w.checkConnection(t, launcherA, nodeA, "2222/tcp", true)
		w.checkConnection(t, nodeA, nodeB, "40000/tcp", true)
		w.checkConnection(t, notebook, nodeA, "2222/tcp", false)
	})
	t.Run("a connection passes if another policy allows it", func(t *testing.T) {
		anyone := []metav1.LabelSelector{{}}
		allowAll := newPolicy("team-vision", "allow-all", nil, anyone, anyone)
		w.apply(t, allowAll)
		w.await(t, notebook, nodeA, true)
		w.checkConnection(t, nodeD, nodeA, "2222/tcp", false)
		if err := w.Client().Delete(t.Context(), allowAll); err != nil {
			t.Fatal(err)
		}
		w.await(t, notebook, nodeA, false)
	})
	t.Run("with isolation job, a policy of the job connects only the pods of the job", func(t *testing.T) {
		w.checkConnection(t, launcherC, nodeC, "2222/tcp", false)
		job := metav1.LabelSelector{MatchLabels: map[string]string{"jobset.sigs.k8s.io/jobset-name": "c"}}
		w.apply(t, newPolicy("team-speech", "c", &job, []metav1.LabelSelector{job}, []metav1.LabelSelector{job}))
		w.await(t, launcherC, nodeC, true)
		w.checkConnection(t, nodeC, launcherC, "40000/tcp", true)
		w.checkConnection(t, nodeA, nodeC, "2222/tcp", false)
		w.checkConnection(t, launcherC, elsewhere, "443/tcp", false)
	})
}

// newPolicy returns a policy that isolates the selected pods. The policy allows only connections from the pods that
// "from" selects, and connections to the pods that "to" selects.
func newPolicy(namespace, name string, selector *metav1.LabelSelector, from, to []metav1.LabelSelector) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}},
	}
	if selector != nil {
		p.Spec.PodSelector = *selector
	}
	for _, labels := range from {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &labels}}})
	}
	for _, labels := range to {
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &labels}}})
	}
	return p
}

func (w *testbed) apply(t *testing.T, policy *networkingv1.NetworkPolicy) {
	t.Helper()
	if err := w.Client().Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
}

// await tries a connection to port 2222 repeatedly. If "want" is true, await returns when a connection succeeds. If
// "want" is false, await returns when a connection fails. Tests call await to wait until the policy agent enforces a
// new policy, or no longer enforces a deleted policy.
func (w *testbed) await(t *testing.T, from, to string, want bool) {
	t.Helper()
	controlplane.Eventually(t, func(context.Context) error { return w.check(t, from, to, "2222/tcp", want) })
}

func (w *testbed) checkConnection(t *testing.T, from, to, port string, want bool) {
	t.Helper()
	if err := w.check(t, from, to, port, want); err != nil {
		t.Error(err)
	}
}

func (w *testbed) check(t *testing.T, from, to, port string, want bool) error {
	t.Helper()
	if got := w.findHost(t, from).canReach(t, w.findHost(t, to).address, port); got != want {
		return fmt.Errorf("connection from %s to %s at %s passes: %t, want %t", from, to, port, got, want)
	}
	return nil
}

func (w *testbed) documentedHosts() []*host {
	return slices.DeleteFunc(slices.Clone(w.hosts), func(h *host) bool { return h.undocumented })
}

// openPorts returns the open ports by source and destination.
func (w *testbed) openPorts(t *testing.T) map[string]map[string][]string {
	t.Helper()
	open := map[string]map[string][]string{}
	for _, from := range w.documentedHosts() {
		open[from.name] = map[string][]string{}
		for _, to := range w.documentedHosts() {
			if from != to {
				open[from.name][to.name] = nil
			}
		}
	}
	var tries sync.WaitGroup
	var mutex sync.Mutex
	limit := make(chan struct{}, 200)
	try := func(from, to *host, port string) {
		defer func() { <-limit }()
		if from.canReach(t, to.address, port) {
			mutex.Lock()
			defer mutex.Unlock()
			open[from.name][to.name] = append(open[from.name][to.name], port)
		}
	}
	for _, from := range w.documentedHosts() {
		for _, to := range w.documentedHosts() {
			if from == to {
				continue
			}
			for _, port := range listenPorts {
				limit <- struct{}{}
				tries.Go(func() { try(from, to, port) })
			}
		}
	}
	tries.Wait()
	return open
}

// formatTable returns a Markdown table: each row contains a host, and the ports of other hosts to which this host can
// connect.
func (w *testbed) formatTable(t *testing.T) string {
	t.Helper()
	matrix := w.openPorts(t)
	var table strings.Builder
	for _, from := range w.documentedHosts() {
		var reached []string
		for _, to := range w.documentedHosts() {
			if open := matrix[from.name][to.name]; len(open) > 0 {
				reached = append(reached, to.name+": "+formatPorts(open))
			}
		}
		fmt.Fprintf(&table, "| %s | %s |\n", from.name, strings.Join(reached, "; "))
	}
	return table.String()
}

func formatPorts(open []string) string {
	if len(open) == len(listenPorts) {
		return "all"
	}
	var sorted []string
	for _, port := range listenPorts {
		if slices.Contains(open, port) {
			sorted = append(sorted, port)
		}
	}
	return strings.Join(sorted, " ")
}
