//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

const (
	domain = "cluster.local"

	// startTimeout is the maximum time for the start of a server. On a busy machine, the start of a server can take almost
	// this long.
	startTimeout = 2 * time.Minute
)

// cluster is a cluster on this machine, with its options and a client of its API server.
type cluster struct {
	Options
	state  state
	tools  upstream.Toolbox
	config *rest.Config
	client client.Client
}

// step is a part of the start of a cluster, such as the start of etcd.
type step struct {
	name  string
	level Level // the level at which the step runs; the steps of ControlPlane run at every level
	do    func(context.Context) error
}

func (c *cluster) steps() []step {
	all := []step{
		{"certificates", ControlPlane, func(context.Context) error { return c.writeCredentials() }},
		{"network", Pods, func(context.Context) error { return c.createNetwork() }},
		{"etcd", ControlPlane, c.startEtcd},
		{apiServer, ControlPlane, c.startAPIServer},
		{controllerManager, ControlPlane, c.startControllerManager},
		{scheduler, ControlPlane, c.startScheduler},
		{"dns", Pods, c.startDNS},
		{"containerd", Pods, c.eachNode(c.startContainerd)},
		{"kubelet", Pods, c.eachNode(c.startKubelet)},
		{"kwok", Scale, c.startKwok},
		{"nodes", Scale, c.createFakeNodes},
		{"jobset", ControlPlane, c.startManager(c.tools, upstream.JobSet)},
		{"trainer", ControlPlane, c.startManager(c.tools, upstream.Trainer)},
	}
	if c.state.Kueue {
		all = append(all, step{"kueue", ControlPlane, c.startKueue})
	}
	return all
}

// Up is the function that starts a cluster. If the cluster already exists, Up starts only its missing servers. If the
// machine lacks a program or a capability, Up fails before it changes anything. If Up fails after its first change, all
// servers and files stay in place for inspection. After a failed start, a second call of Up continues the start, and a
// call of Down removes everything.
func Up(ctx context.Context, o Options) (err error) {
	o, err = o.setDefaults()
	if err != nil {
		return err
	}
	c := &cluster{Options: o}
	if err := c.prepare(); err != nil {
		return err
	}
	lockFile, err := lock(o.Dir)
	if err != nil {
		return err
	}
	defer lockFile.Close()
	if c.state, err = claim(o); err != nil {
		return err
	}
	for _, s := range c.steps() {
		if s.level != ControlPlane && s.level != o.Level {
			continue
		}
		began := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", s.name, err)
		}
		_, _ = fmt.Fprintf(o.Progress, "%-24s %6.1f s\n", s.name, time.Since(began).Seconds())
	}
	return nil
}

// prepare checks that the machine can run the cluster, and creates the folders of the cluster.
func (c *cluster) prepare() error {
	var err error
	if c.tools, err = upstream.Tools(c.Trainer); err != nil {
		return err
	}
	if err := errors.Join(c.requirePrograms(), c.requireMachine()); err != nil {
		return err
	}
	for _, folder := range []string{"logs", "records"} {
		if err := os.MkdirAll(c.filePath(folder), 0o700); err != nil {
			return fmt.Errorf("creating the folder of the cluster: %w", err)
		}
	}
	return nil
}

// filePath returns the path of a file of the cluster.
func (c *cluster) filePath(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

// serverAddress returns the address of the API server. In a cluster of the level Pods, both this machine and the pods
// can reach this address.
func (c *cluster) serverAddress() string {
	if c.Level == Pods {
		return gateway
	}
	return c.state.loopback()
}

func (c *cluster) url() string { return "https://" + net.JoinHostPort(c.serverAddress(), "6443") }

// kubeconfigPath returns the path of a client's kubeconfig.
func (c *cluster) kubeconfigPath(name string) string { return c.filePath("pki", name+".kubeconfig") }

// Kubeconfig returns the path of the administrator's kubeconfig. The argument "dir" is the folder
// of the cluster.
func Kubeconfig(dir string) string { return filepath.Join(dir, "pki", "admin.kubeconfig") }

// connect creates the administrator's client.
func (c *cluster) connect() error {
	var err error
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfigPath("admin")); err != nil {
		return err
	}
	c.config.QPS = -1 // no client-side rate limit, because a limit would make the creation of many nodes too slow
	c.client, err = upstream.Client(c.config)
	return err
}

// newDaemon returns a Daemon with the name of a server and the paths of its record and log. The argument "dir" is the
// folder of the cluster. newDaemon neither starts the server nor checks whether the server runs.
func newDaemon(dir, name string) process.Daemon {
	return process.Daemon{
		Name: name, Record: filepath.Join(dir, "records", name), Log: filepath.Join(dir, "logs", name+".log"),
	}
}
