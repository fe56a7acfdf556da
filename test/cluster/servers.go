//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// Names of the servers that Kubernetes itself provides.
const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
)

// apiQPS and apiBurst are flags of kube-controller-manager and kube-scheduler. The flags raise the maximum number of
// requests that these servers send per second. With the default limits, creating the pods of a large Job would take too
// long.
const apiQPS, apiBurst = "--kube-api-qps=500", "--kube-api-burst=1000"

// run makes sure that a server runs, and waits until the server is ready. A server that already runs is not started
// again.
func (c *cluster) run(ctx context.Context, name string, cmd *exec.Cmd, ready ...func(context.Context) error) error {
	d := newDaemon(c.Dir, name)
	if d.Ended() {
		if err := d.Start(cmd); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return process.WaitFor(ctx, d, allConditions(ready))
}

// allConditions returns a condition that succeeds when all of the given conditions succeed.
func allConditions(conditions []func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var errs []error
		for _, condition := range conditions {
			errs = append(errs, condition(ctx))
		}
		return errors.Join(errs...)
	}
}

func (c *cluster) startEtcd(ctx context.Context) error {
	clients, peers := c.etcdURL(), "http://"+c.state.loopback()+":2380"
	return c.run(ctx, "etcd", exec.Command(c.tools.Path("etcd"),
		"--name=sandbox", "--data-dir="+c.filePath("etcd"),
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=sandbox="+peers,
		"--unsafe-no-fsync", // test data need not survive a power failure
	), upstream.OK(clients+"/health"))
}

func (c *cluster) etcdURL() string { return "http://" + c.state.loopback() + ":2379" }

func (c *cluster) startAPIServer(ctx context.Context) error {
	args := []string{
		"--etcd-servers=" + c.etcdURL(),
		"--bind-address=" + c.serverAddress(), "--secure-port=6443",
		"--service-cluster-ip-range=" + services,
		"--client-ca-file=" + c.pki("ca.crt"),
		"--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc." + domain,
		"--service-account-key-file=" + c.pki("service-accounts.pub"),
		"--service-account-signing-key-file=" + c.pki("service-accounts.key"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--kubelet-certificate-authority=" + c.pki("ca.crt"),
		"--kubelet-client-certificate=" + c.pki("apiserver-kubelet.crt"),
		"--kubelet-client-key=" + c.pki("apiserver-kubelet.key"),
		// By default, the API server connects to kubelets by the names of their nodes, but no DNS server knows
		// these names.
		"--kubelet-preferred-address-types=InternalIP",
		"--profiling=false",
	}
	if c.Level != Pods {
		// The API server listens only on a loopback address. By default, its endpoint reconciler would publish another
		// address, at which the API server does not listen.
		args = append(args, "--endpoint-reconciler-type=none")
	}
	if err := c.run(ctx, apiServer, exec.Command(c.tools.Path(apiServer), args...), upstream.OK(c.url()+"/readyz")); err != nil {
		return err
	}
	return c.connect()
}

func (c *cluster) startControllerManager(ctx context.Context) error {
	return c.run(ctx, controllerManager, exec.Command(c.tools.Path(controllerManager),
		"--kubeconfig="+c.kubeconfigPath("controller-manager"), "--use-service-account-credentials=true",
		"--bind-address="+c.state.loopback(), "--leader-elect=false", "--profiling=false", apiQPS, apiBurst,
		"--root-ca-file="+c.pki("ca.crt"),
		"--service-account-private-key-file="+c.pki("service-accounts.key"),
		// By default, up to five minutes can pass before a quota on objects of a new CRD takes effect. Tests cannot
		// wait that long.
		"--resource-quota-sync-period=10s",
	), upstream.OK("https://"+c.state.loopback()+":10257/healthz"), c.admitsPods)
}

// admitsPods succeeds as soon as the default namespace has the ServiceAccount that pods need.
func (c *cluster) admitsPods(ctx context.Context) error {
	key := client.ObjectKey{Namespace: "default", Name: "default"}
	if err := c.client.Get(ctx, key, &corev1.ServiceAccount{}); err != nil {
		return fmt.Errorf("looking for the default ServiceAccount: %w", err)
	}
	return nil
}

func (c *cluster) startScheduler(ctx context.Context) error {
	return c.run(ctx, scheduler, exec.Command(c.tools.Path(scheduler),
		"--kubeconfig="+c.kubeconfigPath("scheduler"), "--bind-address="+c.state.loopback(), "--leader-elect=false", "--profiling=false",
		apiQPS, apiBurst,
	), upstream.OK("https://"+c.state.loopback()+":10259/healthz"))
}

func (c *cluster) pki(name string) string { return c.filePath("pki", name) }
