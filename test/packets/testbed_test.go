//go:build linux

package packets

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/podrunner"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

func TestMain(m *testing.M) {
	os.Exit(podrunner.Around(func() int {
		if err := addDefaultRoute(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return controlplane.Main(m)
	}))
}

// addDefaultRoute gives the machine an address and a default route. Without an address and a default route, the API
// server could not choose the address that it publishes.
func addDefaultRoute() error {
	for _, args := range []string{
		"link add nowhere type bridge", "address add 10.77.255.1/32 dev nowhere", "link set nowhere up", "route add default dev nowhere",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	return nil
}

// queueNumber is the number of the netfilter queue that the policy agent reads.
const queueNumber = "100"

// host is a pod, or a host outside the cluster.
type host struct {
	name         string // the host's name in the table of docs/networks.md
	namespace    string // the pod's namespace; empty for a host outside the cluster
	labels       map[string]string
	address      string
	undocumented bool // whether the table of docs/networks.md omits the host
	*network
}

// testHosts returns pods, whose addresses begin with 10.77, and hosts outside the cluster. The platform document
// contains the addresses of the hosts outside the cluster, except for the host "elsewhere".
func testHosts() []*host {
	return []*host{
		{name: "launcher of job a, team-vision", namespace: "team-vision", labels: ofJob("a", "launcher"), address: "10.77.0.1"},
		{name: "node of job a, team-vision", namespace: "team-vision", labels: ofJob("a", "node"), address: "10.77.0.2"},
		{name: "node of job b, team-vision", namespace: "team-vision", labels: ofJob("b", "node"), address: "10.77.0.3"},
		{name: "notebook, team-vision", namespace: "team-vision", labels: map[string]string{"app": "notebook"}, address: "10.77.0.4"},
		{name: "launcher of job c, team-speech", namespace: "team-speech", labels: ofJob("c", "launcher"), address: "10.77.1.1"},
		{name: "node of job c, team-speech", namespace: "team-speech", labels: ofJob("c", "node"), address: "10.77.1.2"},
		{name: "node of job d, team-legacy", namespace: "team-legacy", labels: ofJob("d", "node"), address: "10.77.2.1"},
		{name: "DNS", namespace: "kube-system", labels: map[string]string{"k8s-app": "kube-dns"}, address: "10.77.3.1"},
		{name: "monitoring", namespace: "monitoring", labels: map[string]string{"app": "prometheus"}, address: "10.77.4.1"},
		{name: "tracking", namespace: "mlflow", labels: map[string]string{"app": "mlflow"}, address: "10.77.5.1"},
		{name: "object storage", address: "10.20.0.5"},
		{name: "API server", address: "10.0.0.10"},
		{name: "elsewhere", address: "192.0.2.7"},
		{name: otherInKubeSystem, namespace: "kube-system", labels: map[string]string{"k8s-app": "kube-proxy"}, address: "10.77.3.2", undocumented: true},
		{name: otherInMLflow, namespace: "mlflow", labels: map[string]string{"app": "database"}, address: "10.77.5.2", undocumented: true},
	}
}

func ofJob(job, role string) map[string]string {
	return map[string]string{"jobset.sigs.k8s.io/jobset-name": job, "jobset.sigs.k8s.io/replicatedjob-name": role}
}

// testbed uses the machine of the tests as the router between the hosts. Some hosts play the role of pods. For each of
// these hosts, the API server stores a Pod object.
type testbed struct {
	*controlplane.ControlPlane
	hosts []*host
}

// newTestbed creates a testbed in which the kernel sends every new connection between hosts to the queue of the policy
// agent.
func newTestbed(t *testing.T) *testbed {
	t.Helper()
	if os.Getenv("TRAINYARD_PACKETS") == "" {
		t.Skip("needs additional programs: run `make packets`")
	}
	w := &testbed{controlplane.Start(t, controlplane.CRDsOnly()), testHosts()}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		t.Fatalf("enabling forwarding: %v", err)
	}
	hosts := w.hosts
	w.hosts = nil
	for _, h := range hosts {
		w.addHost(t, h, listenPorts)
	}
	// No connection passes before the agent starts, because the kernel drops packets while no agent reads the queue.
	run(t, "iptables", "-A", "FORWARD", "-m", "conntrack", "--ctstate", "NEW", "-j", "NFQUEUE", "--queue-num", queueNumber)
	return w
}

func (w *testbed) addHost(t *testing.T, h *host, ports []string) {
	t.Helper()
	h.network = newNetwork(t, len(w.hosts), h.address)
	h.listen(t, ports)
	w.createPod(t, h)
	w.hosts = append(w.hosts, h)
}

// createPod creates the Pod of a host, with the status that a kubelet reports for a running pod. For a host outside the
// cluster, createPod does nothing.
func (w *testbed) createPod(t *testing.T, h *host) {
	t.Helper()
	if h.namespace == "" {
		return
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}}
	if err := w.Client().Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-", Namespace: h.namespace, Labels: h.labels},
		Spec:       corev1.PodSpec{NodeName: "machine", Containers: []corev1.Container{{Name: "main", Image: "localhost/none"}}},
	}
	if err := w.Client().Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: h.address, PodIPs: []corev1.PodIP{{IP: h.address}}}
	if err := w.Client().Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

func (w *testbed) startAgent(t *testing.T) {
	t.Helper()
	program := w.Tool("network-policies")
	if err := upstream.RequireBuilt("packets", program); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := process.Run(exec.Command(program, "-kubeconfig", w.Kubeconfig(), "-queue", queueNumber), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s: %s", agent, process.Tail(log.Name()))
		}
		if err := agent.Stop(); err != nil {
			t.Errorf("stopping the policy agent: %v", err)
		}
	})
}

func (w *testbed) findHost(t *testing.T, name string) *host {
	t.Helper()
	for _, h := range w.hosts {
		if h.name == name {
			return h
		}
	}
	t.Fatalf("there is no host %s", name)
	return nil
}
