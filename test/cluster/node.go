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
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/upstream"
)

// node is a Kubernetes node: a kubelet with its own containerd. Kubelets cannot share a containerd, because each
// kubelet would kill the pods of the other kubelets. The node's addresses and the names of its network devices
// depend on the node's number.
type node struct {
	name   string
	number int    // from 1 to maxNodes
	host   int    // the third number in the cluster's loopback addresses
	dir    string // the folder of the node's files
}

// listNodes lists the nodes that run pods. The argument "dir" is the folder of the cluster.
func (s state) listNodes(dir string) []node {
	if s.Level != Pods {
		return nil
	}
	var all []node
	for number := 1; number <= s.Nodes; number++ {
		name := fmt.Sprintf("node%d", number)
		all = append(all, node{name: name, number: number, host: s.Host, dir: filepath.Join(dir, name)})
	}
	return all
}

// eachNode returns a function that calls the function "do" for each node in turn.
func (c *cluster) eachNode(do func(context.Context, node) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, n := range c.state.listNodes(c.Dir) {
			if err := do(ctx, n); err != nil {
				return fmt.Errorf("starting %s: %w", n.name, err)
			}
		}
		return nil
	}
}

// kubelet() and containerd() return the names of two daemons: the node's kubelet and the node's containerd.
func (n node) kubelet() string    { return "kubelet-" + n.name }
func (n node) containerd() string { return "containerd-" + n.name }

// cgroup returns the path of the control group below which the pods of the node run.
func (n node) cgroup() string { return filepath.Join(cgroupRoot, n.name) }

// loopback is the address at which the node's servers listen for clients on this machine.
func (n node) loopback() string { return loopbackAddress(n.host, 10+n.number) }

// certificateSubject returns the subject of a node's certificates (see "Node Authorization" in the documentation of
// Kubernetes).
func (n node) certificateSubject() pkix.Name {
	return pkix.Name{CommonName: "system:node:" + n.name, Organization: []string{"system:nodes"}}
}

// object is the content of a configuration file in JSON. Programs that expect YAML can also read JSON.
type object = map[string]any

func (c *cluster) startKubelet(ctx context.Context, n node) error {
	if err := createCgroup(n.cgroup()); err != nil {
		return err
	}
	dir := filepath.Join(n.dir, "kubelet")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	resolver := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(resolver, []byte("nameserver "+gateway+"\n"), 0o644); err != nil {
		return err
	}
	config := filepath.Join(dir, "config.json")
	if err := writeJSON(config, c.kubeletConfig(n, dir, resolver)); err != nil {
		return err
	}
	return c.run(ctx, n.kubelet(), exec.Command(c.tools.Path("kubelet"),
		"--config="+config, "--kubeconfig="+c.kubeconfigPath(n.name),
		"--root-dir="+dir, "--cert-dir="+filepath.Join(dir, "pki"),
		"--hostname-override="+n.name, "--node-ip="+n.nodeAddress(),
	), upstream.OK("http://"+n.loopback()+":10248/healthz"), c.isReady(n))
}

// kubeletConfig returns a configuration that also works on machines with control groups of version 1, with swap space
// or with a small disk. oomScoreAdj is 0, because some machines do not let the user lower a process's out-of-memory
// score.
func (c *cluster) kubeletConfig(n node, dir, resolver string) object {
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": n.nodeAddress(), "port": 10250, "healthzBindAddress": n.loopback(), "healthzPort": 10248,
		"tlsCertFile": c.pki(n.name + "-serving.crt"), "tlsPrivateKeyFile": c.pki(n.name + "-serving.key"),
		"authentication": object{
			"anonymous": object{"enabled": false}, "webhook": object{"enabled": true}, "x509": object{"clientCAFile": c.pki("ca.crt")},
		},
		"authorization":            object{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + n.socketPath(),
		"cgroupDriver":             "cgroupfs", "cgroupRoot": n.cgroup(), "failCgroupV1": false,
		"clusterDNS": []string{gateway}, "clusterDomain": domain, "resolvConf": resolver,
		"podLogsDir": c.filePath("logs", "pods", n.name), "volumePluginDir": filepath.Join(dir, "volume-plugins"),
		"oomScoreAdj": 0, "failSwapOn": false, "makeIPTablesUtilChains": false,
		"imageGCHighThresholdPercent": 100, // never remove images, because they cannot be pulled again
		"evictionHard":                object{"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
	}
}

// isReady returns a function that fails until the node is Ready. Once a node is Ready, pods can be
// scheduled on the node.
func (c *cluster) isReady(n node) func(context.Context) error {
	return func(ctx context.Context) error {
		var live corev1.Node
		if err := c.client.Get(ctx, client.ObjectKey{Name: n.name}, &live); err != nil {
			return err
		}
		if !hasReadyCondition(live) {
			return errors.New("the node is not ready")
		}
		return nil
	}
}

func hasReadyCondition(live corev1.Node) bool {
	return slices.ContainsFunc(live.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func writeJSON(path string, content object) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
