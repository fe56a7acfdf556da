//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/process"
)

func (s *sandbox) findPod(t testing.TB, namespace, job string, role jobs.Role, index int) jobs.Pod {
	t.Helper()
	snapshot, err := s.jobs.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: job})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range snapshot.PodsOf(role) {
		if pod.Index == index {
			return pod
		}
	}
	t.Fatalf("%s has no %s %d", job, role, index)
	return jobs.Pod{}
}

// whenNodesRun starts a goroutine that waits until all nodes of a TrainJob are running. The goroutine then calls the
// function "act" with these nodes.
func (s *sandbox) whenNodesRun(t *testing.T, namespace, job string, act func(nodes []jobs.Pod) error) {
	t.Helper()
	s.afterCreation(t, client.ObjectKey{Namespace: namespace, Name: job}, func(snapshot jobs.Snapshot) error {
		nodes := snapshot.PodsOf(jobs.Node)
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

// closePort makes a node drop all packets to its sshd, as if a network policy denied the connection.
func closePort(ctx context.Context, node jobs.Pod) error {
	rules := "table inet closed { chain input { type filter hook input priority 0; tcp dport 2222 drop; }; }"
	cmd, err := inNetworkOf(ctx, node, "nft", rules)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("closing a port: %w: %s", err, out)
	}
	return nil
}

// inNetworkOf returns a command that runs a program of this machine in the network namespace of a pod. The command
// enters the namespace of the oldest process of the pod, because other processes could end before the command starts.
func inNetworkOf(ctx context.Context, pod jobs.Pod, args ...string) (*exec.Cmd, error) {
	// Oldest finds the pod's oldest process by the path of its control group, which contains the pod's UID.
	pid, err := process.Oldest("pod" + string(pod.UID))
	if err != nil {
		return nil, fmt.Errorf("entering the network of pod %s: %w", pod.Name, err)
	}
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net", "--target", strconv.Itoa(pid)}, args...)...), nil
}
