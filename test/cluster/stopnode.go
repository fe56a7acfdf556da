//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// StopNode ends a node of the cluster in dir as a power failure would: its pods, kubelet and
// containerd vanish without a word, and those who talk to them hear nothing more. Kubernetes
// notices after the better part of a minute. Up brings the node back, as after a restart of
// its machine.
func StopNode(ctx context.Context, dir, name string) error {
	n, err := findNode(dir, name)
	if err != nil {
		return err
	}
	held, err := lock(dir)
	if err != nil {
		return err
	}
	defer held.Close()
	// The network first: the last words of a dying process are not to get out.
	errs := []error{
		n.disconnect(), daemon(dir, n.kubelet()).Kill(), daemon(dir, n.containerd()).Kill(),
		emptyCgroup(n.cgroup()), n.stopShims(0), ctx.Err(),
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	return nil
}

func findNode(dir, name string) (node, error) {
	was, err := readState(dir)
	if err != nil {
		return node{}, fmt.Errorf("looking for the cluster: %w", err)
	}
	if was.Level != Pods {
		return node{}, fmt.Errorf("the cluster in %s is of level %s, which has no nodes to stop", dir, was.Level)
	}
	var names []string
	for _, n := range was.nodes(dir) {
		if n.name == name {
			return n, nil
		}
		names = append(names, n.name)
	}
	return node{}, fmt.Errorf("the cluster in %s has no node %q: choose one of %s", dir, name, strings.Join(names, ", "))
}
