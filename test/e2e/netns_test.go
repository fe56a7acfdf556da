//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
)

// findPod returns one pod of a job.
func (s *sandbox) findPod(t testing.TB, namespace, job string, role jobs.Role, index int) jobs.Pod {
	t.Helper()
	view, err := s.jobs.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: job})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range view.PodsOf(role) {
		if pod.Index == index {
			return pod
		}
	}
	t.Fatalf("%s has no %s %d", job, role, index)
	return jobs.Pod{}
}

// whenNodesRun runs the function "act" in the background, as soon as all nodes of a job run.
func (s *sandbox) whenNodesRun(t *testing.T, namespace, job string, act func(nodes []jobs.Pod) error) {
	t.Helper()
	s.afterCreation(t, client.ObjectKey{Namespace: namespace, Name: job}, func(view jobs.View) error {
		nodes := view.PodsOf(jobs.Node)
		for _, pod := range nodes {
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("%s does not run yet", pod)
			}
		}
		if len(nodes) == 0 {
			return errors.New("the job has no nodes yet")
		}
		return act(nodes)
	})
}

// closePort drops packets to a node's sshd, as a network policy does.
func closePort(ctx context.Context, node jobs.Pod) error {
	process, err := findProcess(node)
	if err != nil {
		return err
	}
	rules := "table inet closed { chain input { type filter hook input priority 0; tcp dport 2222 drop; }; }"
	out, err := exec.CommandContext(ctx, "nsenter", "--net", "--target", process, "nft", rules).CombinedOutput()
	if err != nil {
		return fmt.Errorf("closing a port: %w: %s", err, out)
	}
	return nil
}

// findProcess returns the id of a process that runs in a pod. findProcess recognizes the process by the path of its
// cgroup, which contains the UID of the pod.
func findProcess(pod jobs.Pod) (string, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return "", err
	}
	for _, path := range groups {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte("pod"+string(pod.UID))) {
			return strings.Split(path, "/")[2], nil
		}
	}
	return "", fmt.Errorf("pod %s has no process on this machine", pod.Name)
}
