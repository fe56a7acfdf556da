//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// StopNode stops a node of the cluster in the folder "dir" abruptly, like a power failure. StopNode kills the pods, the
// kubelet and containerd of the node, and cuts off their network. Kubernetes notices the failure after about 50
// seconds. The function Up, which starts all missing servers of a cluster, also starts the stopped node again.
func StopNode(ctx context.Context, dir, name string) error {
	n, err := findNode(dir, name)
	if err != nil {
		return err
	}
	lockFile, err := lock(dir)
	if err != nil {
		return err
	}
	defer lockFile.Close()
	// The network is cut off first, so that a dying process cannot send anything.
	errs := []error{
		n.disconnect(), newDaemon(dir, n.kubelet()).Kill(), newDaemon(dir, n.containerd()).Kill(),
		removeCgroup(n.cgroup()), n.stopShims(0), ctx.Err(),
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	return nil
}

func findNode(dir, name string) (node, error) {
	saved, err := readState(dir)
	if err != nil {
		return node{}, fmt.Errorf("looking for the cluster: %w", err)
	}
	if saved.Level != Pods {
		return node{}, fmt.Errorf("the cluster in %s is of level %s, which has no nodes to stop", dir, saved.Level)
	}
	var names []string
	for _, n := range saved.listNodes(dir) {
		if n.name == name {
			return n, nil
		}
		names = append(names, n.name)
	}
	return node{}, fmt.Errorf("the cluster in %s has no node %q: choose one of %s", dir, name, strings.Join(names, ", "))
}
