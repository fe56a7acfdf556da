//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/trainyard/trainyard/test/images"
)

// containerdConfig is a configuration for containerd 1.6, the version of Debian 12. All files of the node's containerd,
// including network namespaces, are in a separate folder, so that another containerd on the machine is not disturbed.
const containerdConfig = `version = 2
root = "$DIR/root"
state = "$DIR/state"
[grpc]
  address = "$SOCKET"
[plugins."io.containerd.internal.v1.opt"]
  path = "$DIR/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  stream_server_address = "$LOOPBACK"
  netns_mounts_under_state_dir = true
  # In a container, root can lack CAP_SYS_RESOURCE, which is needed to lower the OOM score.
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

// socketPath is the path of the socket on which the node's containerd listens.
func (n node) socketPath() string { return n.dir + "/containerd/containerd.sock" }

func (c *cluster) startContainerd(ctx context.Context, n node) error {
	dir := n.dir + "/containerd"
	if err := n.writePodNetwork(dir); err != nil {
		return err
	}
	values := map[string]string{"DIR": dir, "SOCKET": n.socketPath(), "PAUSE": images.PauseName, "LOOPBACK": n.loopback()}
	text := os.Expand(containerdConfig, func(key string) string { return values[key] })
	if err := os.WriteFile(dir+"/config.toml", []byte(text), 0o600); err != nil {
		return err
	}
	ready := func(ctx context.Context) error { return n.runCtr(ctx, "version") }
	if err := c.run(ctx, n.containerd(), exec.Command("containerd", "-c", dir+"/config.toml"), ready); err != nil {
		return err
	}
	pause := dir + "/pause.tar"
	if err := images.Pause(c.tools.Path("pause"), pause); err != nil {
		return err
	}
	return n.loadImages(ctx, pause)
}

// writePodNetwork configures containerd to connect pods to the node's bridge. Pods have no route out of the
// machine.
func (n node) writePodNetwork(dir string) error {
	if err := os.MkdirAll(dir+"/cni", 0o700); err != nil {
		return err
	}
	first, last := n.podRange()
	return writeJSON(dir+"/cni/10-sandbox.conflist", object{
		"cniVersion": "1.0.0", "name": "sandbox", "plugins": []object{{
			"type": "bridge", "bridge": n.bridgeName(), "ipMasq": false, "hairpinMode": true,
			"ipam": object{
				"type": "host-local", "dataDir": dir + "/addresses",
				"ranges": [][]object{{{"subnet": subnet, "rangeStart": first, "rangeEnd": last, "gateway": gateway}}},
			},
		}},
	})
}

// Load makes images available on all nodes of the cluster. The argument "dir" is the cluster's folder. The argument
// "archives" contains the paths of archives with these images. The package test/images builds these archives. Pods with
// these images need a pull policy that allows local images, such as Never.
func Load(ctx context.Context, dir string, archives ...string) error {
	saved, err := readState(dir)
	if err != nil {
		return fmt.Errorf("looking for the cluster: %w", err)
	}
	if saved.Level != Pods {
		return fmt.Errorf("the cluster in %s has level %s: images can be loaded at level pods only", dir, saved.Level)
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, n := range saved.listNodes(dir) {
		all.Go(func() error {
			for _, archive := range archives {
				if err := n.loadImages(ctx, archive); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// loadImages loads the images of an archive on the node. loadImages skips an archive that has not changed since an
// earlier call loaded it. Loading all archives again in each test run would take most of the run's startup time.
func (n node) loadImages(ctx context.Context, archive string) error {
	stat, err := os.Stat(archive)
	if err != nil {
		return fmt.Errorf("loading an image: %w", err)
	}
	loaded := filepath.Join(n.dir, "containerd", "loaded-"+filepath.Base(archive))
	version := fmt.Sprint(stat.Size(), stat.ModTime().UnixNano())
	if recorded, err := os.ReadFile(loaded); err == nil && string(recorded) == version {
		return nil
	}
	if err := n.runCtr(ctx, "images", "import", archive); err != nil {
		return fmt.Errorf("loading %s on %s: %w", archive, n.name, err)
	}
	return os.WriteFile(loaded, []byte(version), 0o600)
}

// runCtr runs the ctr command on the node's containerd. runCtr uses containerd's namespace k8s.io, which contains the
// images of Kubernetes.
func (n node) runCtr(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", n.socketPath(), "--namespace", "k8s.io"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
