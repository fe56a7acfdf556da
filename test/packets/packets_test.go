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

// The hosts that single connections are tried with.
const (
	launcherA = "launcher of job a, team-vision"
	nodeA     = "node of job a, team-vision"
	nodeB     = "node of job b, team-vision"
	notebook  = "notebook, team-vision"
	launcherC = "launcher of job c, team-speech"
	nodeC     = "node of job c, team-speech"
	nodeD     = "node of job d, team-legacy"
	elsewhere = "elsewhere"

	// Two that only differ by their labels from what policies lead to.
	besideDNS      = "kube-proxy"
	besideTracking = "database"
)

// TestPacketsDecide: what the documentation says of its document is so. The subtests are steps, in this order.
func TestPacketsDecide(t *testing.T) {
	w := newWorld(t)
	t.Run("no packet passes without the engine", func(t *testing.T) {
		w.expect(t, launcherA, nodeA, "2222/tcp", false)
	})
	w.startEngine(t)
	t.Run("all reach all while there are no policies", func(t *testing.T) {
		controlplane.Eventually(t, func(context.Context) error { // until the engine has started
			return w.differs(t, launcherA, nodeA, "2222/tcp", true)
		})
		for from, reached := range w.matrix(t) {
			for to, open := range reached {
				if len(open) != len(ports) {
					t.Errorf("%s reaches %s at %v only", from, to, open)
				}
			}
		}
	})
	if err := w.Apply(t.Context(), objects(t, anyPort)["NetworkPolicy"]...); err != nil {
		t.Fatal(err)
	}
	t.Run("policies are what the documentation says", func(t *testing.T) {
		w.settle(t, launcherA, elsewhere, false)
		w.settle(t, launcherC, elsewhere, false)
		expectTable(t, w.table(t))
	})
	t.Run("labels choose among the pods of a namespace", func(t *testing.T) {
		w.expect(t, launcherA, besideDNS, "53/udp", false)
		w.expect(t, launcherA, besideTracking, "5000/tcp", false)
		w.expect(t, notebook, besideTracking, "5000/tcp", true)
	})
	t.Run("network policy conflicts", w.conflicts)
	t.Run("mpirun works under default deny", func(t *testing.T) { runMPI(t, anyPort, w.named(t, launcherA), w.named(t, nodeA)) })
	t.Run("pods reach each other at the document's ports", w.keepsToPorts)
}

// keepsToPorts is what comes of a range of ports for MPI: it, sshd's port, and nothing beside them.
func (w *world) keepsToPorts(t *testing.T) {
	tried := map[string]bool{
		"2222/tcp": true, "20000/tcp": true, "25000/tcp": true, "29999/tcp": true,
		"2221/tcp": false, "2223/tcp": false, "19999/tcp": false, "30000/tcp": false, "40000/tcp": false, "25000/udp": false,
	}
	launcher := &host{name: "launcher of job e, team-ports", namespace: "team-ports", labels: ofJob("e", "launcher"), address: "10.77.6.1"}
	node := &host{name: "node of job e, team-ports", namespace: "team-ports", labels: ofJob("e", "node"), address: "10.77.6.2"}
	for _, h := range []*host{launcher, node} {
		w.join(t, h, slices.Sorted(maps.Keys(tried)))
	}
	for port := range tried {
		if !launcher.reaches(t, node.address, port) {
			t.Fatalf("%s is closed while there are no policies", port)
		}
	}
	if err := w.Apply(t.Context(), objects(t, pinned)["NetworkPolicy"]...); err != nil {
		t.Fatal(err)
	}
	w.settle(t, launcher.name, elsewhere, false)
	for port, want := range tried {
		w.expect(t, launcher.name, node.name, port, want)
		w.expect(t, node.name, launcher.name, port, want)
	}
	launcher.fallSilent()
	runMPI(t, pinned, launcher, node)
}

// conflicts are policies of others beside ours.
func (w *world) conflicts(t *testing.T) {
	t.Run("a default deny that was there takes nothing from MPI", func(t *testing.T) {
		w.apply(t, policy("team-vision", "default-deny", nil, nil, nil))
		w.settle(t, notebook, elsewhere, false)
		w.expect(t, launcherA, nodeA, "2222/tcp", true)
		w.expect(t, nodeA, nodeB, "40000/tcp", true)
		w.expect(t, notebook, nodeA, "2222/tcp", false)
	})
	t.Run("what another policy allows, ours cannot forbid", func(t *testing.T) {
		anyone := []metav1.LabelSelector{{}}
		others := policy("team-vision", "allow-all", nil, anyone, anyone)
		w.apply(t, others)
		w.settle(t, notebook, nodeA, true)
		w.expect(t, nodeD, nodeA, "2222/tcp", false)
		if err := w.Client().Delete(t.Context(), others); err != nil {
			t.Fatal(err)
		}
		w.settle(t, notebook, nodeA, false)
	})
	t.Run("with isolation job, a policy of the job joins its pods and no others", func(t *testing.T) {
		w.expect(t, launcherC, nodeC, "2222/tcp", false)
		job := metav1.LabelSelector{MatchLabels: map[string]string{"jobset.sigs.k8s.io/jobset-name": "c"}}
		w.apply(t, policy("team-speech", "c", &job, []metav1.LabelSelector{job}, []metav1.LabelSelector{job}))
		w.settle(t, launcherC, nodeC, true)
		w.expect(t, nodeC, launcherC, "40000/tcp", true)
		w.expect(t, nodeA, nodeC, "2222/tcp", false)
		w.expect(t, launcherC, elsewhere, "443/tcp", false)
	})
}

// policy is one of somebody else: it lets pods of its namespace in and out by their labels.
func policy(namespace, name string, of *metav1.LabelSelector, from, to []metav1.LabelSelector) *networkingv1.NetworkPolicy {
	made := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}},
	}
	if of != nil {
		made.Spec.PodSelector = *of
	}
	for _, labels := range from {
		made.Spec.Ingress = append(made.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &labels}}})
	}
	for _, labels := range to {
		made.Spec.Egress = append(made.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &labels}}})
	}
	return made
}

func (w *world) apply(t *testing.T, policy *networkingv1.NetworkPolicy) {
	t.Helper()
	if err := w.Client().Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
}

// settle waits until the engine has seen a policy, by a connection that it changes.
func (w *world) settle(t *testing.T, from, to string, want bool) {
	t.Helper()
	controlplane.Eventually(t, func(context.Context) error { return w.differs(t, from, to, "2222/tcp", want) })
}

// expect tries one connection.
func (w *world) expect(t *testing.T, from, to, port string, want bool) {
	t.Helper()
	if err := w.differs(t, from, to, port, want); err != nil {
		t.Error(err)
	}
}

func (w *world) differs(t *testing.T, from, to, port string, want bool) error {
	t.Helper()
	if got := w.named(t, from).reaches(t, w.named(t, to).address, port); got != want {
		return fmt.Errorf("%s reaches %s at %s: %t, want %t", from, to, port, got, want)
	}
	return nil
}

// tabled are the hosts of the table.
func (w *world) tabled() []*host {
	return slices.DeleteFunc(slices.Clone(w.hosts), func(h *host) bool { return h.aside })
}

// matrix tries all connections between hosts of the table: by host, and host that it connects to, the ports that answer.
func (w *world) matrix(t *testing.T) map[string]map[string][]string {
	t.Helper()
	open := map[string]map[string][]string{}
	for _, from := range w.tabled() {
		open[from.name] = map[string][]string{}
		for _, to := range w.tabled() {
			if from != to {
				open[from.name][to.name] = nil
			}
		}
	}
	var tries sync.WaitGroup
	var mutex sync.Mutex
	atOnce := make(chan struct{}, 200)
	try := func(from, to *host, port string) {
		defer func() { <-atOnce }()
		if from.reaches(t, to.address, port) {
			mutex.Lock()
			defer mutex.Unlock()
			open[from.name][to.name] = append(open[from.name][to.name], port)
		}
	}
	for _, from := range w.tabled() {
		for _, to := range w.tabled() {
			if from == to {
				continue
			}
			for _, port := range ports {
				atOnce <- struct{}{}
				tries.Go(func() { try(from, to, port) })
			}
		}
	}
	tries.Wait()
	return open
}

// table is the matrix in Markdown: a host, and what it reaches.
func (w *world) table(t *testing.T) string {
	t.Helper()
	matrix := w.matrix(t)
	var table strings.Builder
	for _, from := range w.tabled() {
		var reached []string
		for _, to := range w.tabled() {
			if open := matrix[from.name][to.name]; len(open) > 0 {
				reached = append(reached, to.name+": "+shown(open))
			}
		}
		fmt.Fprintf(&table, "| %s | %s |\n", from.name, strings.Join(reached, "; "))
	}
	return table.String()
}

// shown are ports as a person would list them.
func shown(open []string) string {
	if len(open) == len(ports) {
		return "all"
	}
	var inOrder []string
	for _, port := range ports {
		for _, each := range open {
			if each == port {
				inOrder = append(inOrder, port)
			}
		}
	}
	return strings.Join(inOrder, " ")
}
