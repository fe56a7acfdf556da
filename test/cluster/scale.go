//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// fakeAnnotations mark the nodes that kwok simulates. kwok gets the same annotations in its flag
// --manage-nodes-with-annotation-selector.
var fakeAnnotations = map[string]string{"kwok.x-k8s.io/node": "fake"}

// fakeCapacity is the capacity of a simulated node. The capacity is large enough for all pods, except in
// tests that request an unusual amount of a resource.
var fakeCapacity = corev1.ResourceList{
	corev1.ResourceCPU:              resource.MustParse("64"),
	corev1.ResourceMemory:           resource.MustParse("512Gi"),
	corev1.ResourceEphemeralStorage: resource.MustParse("4Ti"),
	corev1.ResourcePods:             resource.MustParse("110"),
	"nvidia.com/gpu":                resource.MustParse("8"),
}

// startKwok starts the simulator of nodes and pods.
func (c *cluster) startKwok(ctx context.Context) error {
	stages, err := upstream.Stages()
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.filePath("stages.yaml"), stages, 0o600); err != nil {
		return err
	}
	at := c.state.loopback() + ":10247"
	return c.run(ctx, "kwok", exec.Command(c.tools.Path("kwok"),
		"--kubeconfig="+c.kubeconfigPath("kwok"), "--config="+c.filePath("stages.yaml"), "--server-address="+at,
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds=40",
		"--cidr="+subnet, // the addresses of simulated pods, which receive no packets
	), upstream.OK("http://"+at+"/healthz"))
}

// createFakeNodes creates the simulated nodes, and waits until pods can be scheduled on all of them.
func (c *cluster) createFakeNodes(ctx context.Context) error {
	for number := 1; number <= c.state.Nodes; number++ {
		if err := client.IgnoreAlreadyExists(c.client.Create(ctx, fakeNode(number))); err != nil {
			return fmt.Errorf("creating node %d: %w", number, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return process.WaitFor(ctx, newDaemon(c.Dir, "kwok"), c.fakeNodesReady)
}

func fakeNode(number int) *corev1.Node {
	name := fmt.Sprintf("fake%d", number)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: fakeAnnotations, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{Allocatable: fakeCapacity, Capacity: fakeCapacity},
	}
}

// fakeNodesReady succeeds once pods can be scheduled on every node.
func (c *cluster) fakeNodesReady(ctx context.Context) error {
	var all corev1.NodeList
	if err := c.client.List(ctx, &all); err != nil {
		return err
	}
	ready := 0
	for _, n := range all.Items {
		if hasReadyCondition(n) {
			ready++
		}
	}
	if ready < c.state.Nodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, c.state.Nodes)
	}
	return nil
}
