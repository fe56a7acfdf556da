//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/trainyard/trainyard/test/images"
)

// containerdConfig is for containerd 1.6, as Debian 12 has it. Everything lies in its own
// folder, network namespaces too, so that no other containerd of the machine is touched.
const containerdConfig = `version = 2
root = "$DIR/root"
state = "$DIR/state"
[grpc]
  address = "$SOCKET"
[plugins."io.containerd.internal.v1.opt"]
  path = "$DIR/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  stream_server_address = "127.88.0.1"
  netns_mounts_under_state_dir = true
  # Root in a container may not lower this score (CAP_SYS_RESOURCE).
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$DIR/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "$DIR/runc"
`

func (c *cluster) containerdSocket() string { return socket(c.Dir) }

func socket(dir string) string { return dir + "/containerd/containerd.sock" }

func (c *cluster) startContainerd(ctx context.Context) error {
	dir := c.path("containerd")
	if err := c.writePodNetwork(dir + "/cni"); err != nil {
		return err
	}
	values := map[string]string{"DIR": dir, "SOCKET": c.containerdSocket(), "PAUSE": images.PauseName}
	text := os.Expand(containerdConfig, func(key string) string { return values[key] })
	if err := os.WriteFile(dir+"/config.toml", []byte(text), 0o600); err != nil {
		return err
	}
	if err := c.run(ctx, "containerd", exec.Command("containerd", "-c", dir+"/config.toml"), c.answersCtr); err != nil {
		return err
	}
	pause := dir + "/pause.tar"
	if err := images.Pause(c.tools.Path("pause"), pause); err != nil {
		return err
	}
	return Load(ctx, c.Dir, pause)
}

// writePodNetwork says how containerd connects pods: to the bridge, without a way out.
func (c *cluster) writePodNetwork(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return writeJSON(dir+"/10-sandbox.conflist", object{
		"cniVersion": "1.0.0", "name": "sandbox", "plugins": []object{{
			"type": "bridge", "bridge": bridge, "isGateway": true, "ipMasq": false, "hairpinMode": true,
			"ipam": object{
				"type": "host-local", "dataDir": c.path("containerd", "addresses"),
				"ranges": [][]object{{{"subnet": subnet, "rangeStart": firstPod, "gateway": gateway}}},
			},
		}},
	})
}

func (c *cluster) answersCtr(ctx context.Context) error {
	return ctr(ctx, c.Dir, "version")
}

// Load puts images of archives, such as those of test/images, on the nodes of the cluster in
// dir. Pods must not ask for them to be pulled.
func Load(ctx context.Context, dir string, archives ...string) error {
	for _, archive := range archives {
		if err := ctr(ctx, dir, "images", "import", archive); err != nil {
			return fmt.Errorf("loading %s: %w", archive, err)
		}
	}
	return nil
}

// ctr asks the cluster's containerd about what belongs to Kubernetes.
func ctr(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", socket(dir), "--namespace", "k8s.io"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
