//go:build linux

package cluster

import (
	"context"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/upstream"
)

// node is one kubelet. Nodes of a cluster would share the bridge and the pods' addresses; a
// second one would need a containerd of its own.
type node struct {
	name    string
	address string
	healthz string // port on the loopback address
}

// nodes are those of the cluster's level.
func (c *cluster) nodes() []node {
	if c.Level != Pods {
		return nil
	}
	return []node{{name: "node1", address: gateway, healthz: "10248"}}
}

// subject is as whom a node talks to the API server ("Node Authorization").
func (n node) subject() pkix.Name {
	return pkix.Name{CommonName: "system:node:" + n.name, Organization: []string{"system:nodes"}}
}

// object is a configuration file in JSON, which all its readers take for YAML.
type object = map[string]any

func (c *cluster) startKubelets(ctx context.Context) error {
	for _, n := range c.nodes() {
		if err := c.startKubelet(ctx, n); err != nil {
			return fmt.Errorf("starting %s: %w", n.name, err)
		}
	}
	return nil
}

func (c *cluster) startKubelet(ctx context.Context, n node) error {
	group := filepath.Join(cgroupRoot, n.name)
	if err := makeCgroup(group); err != nil {
		return err
	}
	dir := c.path("kubelet", n.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	resolver := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(resolver, []byte("nameserver "+gateway+"\n"), 0o644); err != nil {
		return err
	}
	config := filepath.Join(dir, "config.json")
	if err := writeJSON(config, c.kubeletConfig(n, dir, group, resolver)); err != nil {
		return err
	}
	return c.run(ctx, "kubelet", exec.Command(c.tools.Path("kubelet"),
		"--config="+config, "--kubeconfig="+c.kubeconfig(n.name),
		"--root-dir="+dir, "--cert-dir="+filepath.Join(dir, "pki"),
		"--hostname-override="+n.name, "--node-ip="+n.address,
	), upstream.OK("http://"+loopback+":"+n.healthz+"/healthz"), c.isReady(n))
}

// kubeletConfig is as narrow as a machine may be: control groups of version 1, no right to
// protect processes from the kernel's memory killer, swap, little disk.
func (c *cluster) kubeletConfig(n node, dir, group, resolver string) object {
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": n.address, "port": 10250, "healthzBindAddress": loopback, "healthzPort": json.Number(n.healthz),
		"tlsCertFile": c.pki(n.name + "-serving.crt"), "tlsPrivateKeyFile": c.pki(n.name + "-serving.key"),
		"authentication": object{
			"anonymous": object{"enabled": false}, "webhook": object{"enabled": true}, "x509": object{"clientCAFile": c.pki("ca.crt")},
		},
		"authorization":            object{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + c.containerdSocket(),
		"cgroupDriver":             "cgroupfs", "cgroupRoot": group, "failCgroupV1": false,
		"clusterDNS": []string{gateway}, "clusterDomain": domain, "resolvConf": resolver,
		"podLogsDir": c.path("logs", "pods"), "volumePluginDir": filepath.Join(dir, "volume-plugins"),
		"oomScoreAdj": 0, "failSwapOn": false, "makeIPTablesUtilChains": false,
		"imageGCHighThresholdPercent": 100, // images cannot be pulled again
		"evictionHard":                object{"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
		"maxPods":                     60,
	}
}

// isReady holds once pods can be placed on a node.
func (c *cluster) isReady(n node) func(context.Context) error {
	return func(ctx context.Context) error {
		var live corev1.Node
		if err := c.client.Get(ctx, client.ObjectKey{Name: n.name}, &live); err != nil {
			return err
		}
		for _, condition := range live.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("the node is not ready")
	}
}

func writeJSON(path string, content object) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
