//go:build linux

package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/images"
	"github.com/trainyard/trainyard/test/upstream"
)

// TestUpRunsPodsAndDownLeavesNothing starts a cluster, stops a node, and kills the scheduler. The test starts the
// node and the scheduler again with Up. Finally, the test checks that Down leaves no traces on the machine.
func TestUpRunsPodsAndDownLeavesNothing(t *testing.T) {
	o := newClusterOptions(t)
	before := takeSnapshot(t, o.Dir)
	if len(before["processes"]) > 0 {
		t.Fatalf("this machine runs containers, which the test cannot distinguish from its own: stop these containers first: %v", before["processes"])
	}
	t.Cleanup(func() {
		if err := Down(context.Background(), o.Dir, o.Progress); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, takeSnapshot(t, o.Dir)); diff != "" {
			t.Errorf("state of the machine: -before +after:\n%s", diff)
		}
	})
	up(t, o)
	expectAllServersRun(t, o.Dir)
	expectNodeFailureIsContained(t, o)
	first := runningServers(t, o.Dir)
	up(t, o)
	if diff := cmp.Diff(first, runningServers(t, o.Dir)); diff != "" {
		t.Errorf("processes after another Up: -first +second:\n%s", diff)
	}
	if err := syscall.Kill(first["kube-scheduler"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	up(t, o)
	second := runningServers(t, o.Dir)
	if second["kube-scheduler"] == first["kube-scheduler"] || second["etcd"] != first["etcd"] {
		t.Errorf("Up() after the scheduler was killed: got processes %v, want those before (%v) with a new scheduler", second, first)
	}
	expectLocalAddressesOnly(t)
	o.Level, o.Nodes = ControlPlane, 0
	if err := Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), "take that cluster down first") {
		t.Errorf("Up() at another level = %v, want an error", err)
	}
}

// newClusterOptions returns options for a cluster with two nodes. The folder of the cluster has a short path, because
// the paths of sockets have a maximum length.
func newClusterOptions(t *testing.T) Options {
	t.Helper()
	if os.Getenv("TRAINYARD_E2E") == "" {
		t.Skip("needs root and takes minutes: run `make e2e`")
	}
	if dir, err := DefaultDir(); err != nil || len(runningServers(t, dir)) > 0 {
		t.Fatalf("a cluster is up in %s: take it down first (%v)", dir, err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "cluster-")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Dir: dir, Nodes: 2, Progress: t.Output()}
}

func up(t *testing.T, o Options) {
	t.Helper()
	if err := Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func runningServers(t *testing.T, dir string) map[string]int {
	t.Helper()
	servers, err := Status(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, s := range servers {
		if s.PID != 0 {
			found[s.Name] = s.PID
		}
	}
	return found
}

func expectAllServersRun(t *testing.T, dir string) {
	t.Helper()
	want := []string{
		"containerd-node1", "containerd-node2", "dns", "etcd", "jobset", "kube-apiserver", "kube-controller-manager",
		"kube-scheduler", "kubelet-node1", "kubelet-node2", "trainer-controller-manager",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(runningServers(t, dir)))); diff != "" {
		t.Errorf("running servers: -want +got:\n%s", diff)
	}
}

func newClient(t *testing.T, dir string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", Kubeconfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	c, err := upstream.Client(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runPod runs a pod with resource limits, and returns the pod's address. The pod starts only if the node can create
// control groups, connect the pod to the network, and find the image.
func runPod(t *testing.T, c client.Client, node string) string {
	t.Helper()
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("20Mi")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "on-" + node, Namespace: "default"},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "pause", Image: images.PauseName, ImagePullPolicy: corev1.PullNever,
			Resources: corev1.ResourceRequirements{Limits: limits},
		}}},
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); pod.Status.Phase != corev1.PodRunning; time.Sleep(200 * time.Millisecond) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || time.Now().After(deadline) {
			t.Fatalf("the pod has phase %s: %v: %v", pod.Status.Phase, pod.Status.ContainerStatuses, err)
		}
	}
	return pod.Status.PodIP
}

// expectLocalAddressesOnly fails if a server listens on an address that other machines can reach.
// expectLocalAddressesOnly finds the servers in the output of the command ss. The check also fails if this output shows
// fewer than 5 servers. Without this condition, the check would succeed even if the output showed no servers at all.
func expectLocalAddressesOnly(t *testing.T) {
	t.Helper()
	servers := 0
	for _, line := range outputLines("ss", "-Hltnp") {
		fields := strings.Fields(line)
		isServer := false
		for _, name := range []string{
			"containerd", "coredns", "kubelet", "trainer-controller-manager", "jobset", scheduler, controllerManager, apiServer, "etcd",
		} {
			// The output of ss contains process names, which the kernel truncates to 15 bytes.
			isServer = isServer || strings.Contains(line, fmt.Sprintf("((%q,", name[:min(15, len(name))]))
		}
		if isServer {
			servers++
		}
		address := fields[3]
		if isServer && !strings.HasPrefix(address, "127.") && !strings.HasPrefix(address, "198.18.0.") {
			t.Errorf("%s listens on %s, want an address of this machine only", line, address)
		}
	}
	if servers < 5 {
		t.Errorf("ss shows %d listening servers of the cluster, want at least 5", servers)
	}
}
