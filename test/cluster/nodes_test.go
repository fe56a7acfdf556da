//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/process"
)

// expectNodeFailureIsContained checks that pods of two nodes reach each other, and then stops one node. The failure
// must not affect the other node, and Up must start the stopped node again.
func expectNodeFailureIsContained(t *testing.T, o Options) {
	t.Helper()
	c := newClient(t, o.Dir)
	pod1, pod2 := runPod(t, c, "node1"), runPod(t, c, "node2")
	for node, address := range map[string]string{"node1": pod2, "node2": pod1} {
		if err := dialFrom(t, node, address); !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("connecting to a closed port of %s from a pod of %s: %v, want connection refused", address, node, err)
		}
	}
	before := runningServers(t, o.Dir)
	if err := StopNode(t.Context(), o.Dir, "node2"); err != nil {
		t.Fatal(err)
	}
	delete(before, "kubelet-node2")
	delete(before, "containerd-node2")
	if diff := cmp.Diff(before, runningServers(t, o.Dir)); diff != "" {
		t.Errorf("servers after a node stopped: -want +got:\n%s", diff)
	}
	if err := dialFrom(t, "node1", pod2); err == nil || errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("connecting to a pod of a stopped node: %v, want a timeout", err)
	}
	if pids := listProcesses(t, "node2"); len(pids) > 0 {
		t.Errorf("processes %v of the stopped node still run", pids)
	}
	awaitNode(t, c, "node2", corev1.ConditionUnknown)
	up(t, o)
	awaitNode(t, c, "node2", corev1.ConditionTrue)
	expectAllServersRun(t, o.Dir)
	awaitRestartedPod(t, c)
}

// dialFrom tests whether a pod on the given cluster node can reach the given address. For this test, dialFrom tries to
// connect to port 9 of the address, on which no program listens. If the pod can reach the address, the connection is
// refused. dialFrom then returns the error "connection refused".
func dialFrom(t *testing.T, node, address string) error {
	t.Helper()
	pid, err := process.Oldest(cgroupRoot + "/" + node + "/")
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread stays locked, so that no other goroutine uses it
		result <- func() error {
			file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, "9"), 2*time.Second)
			if err == nil {
				err = conn.Close()
			}
			return err
		}()
	}()
	return <-result
}

func listProcesses(t *testing.T, node string) []int {
	t.Helper()
	all, err := listHierarchies()
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	err = filepath.WalkDir(filepath.Join(all[0].path, cgroupRoot, node), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.Name() != "cgroup.procs" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, field := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(field)
			found = append(found, pid)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func awaitNode(t *testing.T, c client.Client, name string, want corev1.ConditionStatus) {
	t.Helper()
	began := time.Now()
	poll.Until(t, startTimeout, func(ctx context.Context) error {
		var node corev1.Node
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == want {
				return nil
			}
		}
		return fmt.Errorf("%s is not Ready=%s", name, want)
	})
	t.Logf("%s has Ready=%s after %s", name, want, time.Since(began).Round(time.Second))
}

func awaitRestartedPod(t *testing.T, c client.Client) {
	t.Helper()
	poll.Until(t, startTimeout, func(ctx context.Context) error {
		var pod corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "on-node2"}, &pod); err != nil {
			return err
		}
		if err := dialFrom(t, "node1", pod.Status.PodIP); !errors.Is(err, unix.ECONNREFUSED) {
			return fmt.Errorf("connecting to a closed port of %s: %w", pod.Status.PodIP, err)
		}
		return nil
	})
}
