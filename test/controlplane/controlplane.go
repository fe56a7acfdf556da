package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/crds"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// startTimeout is the maximum duration of each wait during the start of a control plane. On a busy machine, a wait
// can take almost two minutes.
const startTimeout = 2 * time.Minute

// ControlPlane is one running Kubernetes API server with Trainer and JobSet.
type ControlPlane struct {
	dir       string // the folder of all files of this control plane
	options   options
	tools     upstream.Toolbox
	env       *envtest.Environment
	manifests []upstream.Manifests // manifests of the projects in the order of listProjects, then of Kueue, then other CRDs
	managers  []*process.Child
	logs      []string
	client    client.Client
}

// Config returns the configuration of an administrator's client.
func (cp *ControlPlane) Config() *rest.Config { return rest.CopyConfig(cp.env.Config) }

// Client returns an administrator's client without a cache. The client knows the Go types of Kubernetes, Trainer, JobSet
// and CustomResourceDefinition.
func (cp *ControlPlane) Client() client.Client { return cp.client }

// Kubeconfig returns the path of an administrator's kubeconfig file.
func (cp *ControlPlane) Kubeconfig() string { return filepath.Join(cp.dir, "kubeconfig") }

// Tool returns the path of a built program, such as kubectl or kustomize.
func (cp *ControlPlane) Tool(name string) string { return cp.tools.Path(name) }

// Logs returns the paths of the servers' logs.
func (cp *ControlPlane) Logs() []string { return cp.logs }

// launch starts a control plane. If the start fails, launch stops all servers and keeps their logs.
func launch(o options) (*ControlPlane, error) {
	tools, err := findTools(o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		return nil, fmt.Errorf("creating a folder for the control plane: %w", err)
	}
	cp := &ControlPlane{dir: dir, options: o, tools: tools}
	for _, step := range []func() error{cp.startAPI, cp.connect, cp.installCRDs, cp.startManagers, cp.startControllers} {
		if err := step(); err != nil {
			return nil, errors.Join(err, cp.stop(), fmt.Errorf("the logs are in %s", dir))
		}
	}
	return cp, nil
}

// startAPI runs etcd and kube-apiserver, even if the environment variable USE_EXISTING_CLUSTER tells envtest to
// use an existing cluster. While the servers start, startAPI reads the manifests to install.
func (cp *ControlPlane) startAPI() error {
	etcd, etcdErr := cp.prepare(cp.Tool("etcd"))
	api, apiErr := cp.prepare(cp.Tool("kube-apiserver"))
	if err := errors.Join(etcdErr, apiErr); err != nil {
		return err
	}
	cp.env = &envtest.Environment{
		UseExistingCluster:       ptr.To(false),
		ControlPlaneStartTimeout: startTimeout,
		ControlPlane: envtest.ControlPlane{
			Etcd:      &envtest.Etcd{Path: etcd.script, DataDir: etcd.dir, Out: etcd.log, Err: etcd.log},
			APIServer: &envtest.APIServer{Path: api.script, CertDir: api.dir, Out: api.log, Err: api.log},
		},
	}
	read := make(chan error)
	go func() { read <- cp.readManifests() }()
	_, err := cp.env.Start()
	if err != nil {
		err = fmt.Errorf("starting etcd and kube-apiserver: %w: %s%s", err, process.Tail(etcd.log.Name()), process.Tail(api.log.Name()))
	}
	return errors.Join(err, <-read)
}

// readManifests reads the CRDs and webhooks of all projects that the control plane installs.
func (cp *ControlPlane) readManifests() error {
	for _, m := range cp.options.listProjects() {
		read, err := cp.tools.Manifests(m)
		if err != nil {
			return fmt.Errorf("reading the manifests of %s: %w", m.Name, err)
		}
		cp.manifests = append(cp.manifests, read)
	}
	queues, err := cp.readKueue()
	if err != nil {
		return fmt.Errorf("reading the CRDs of Kueue: %w", err)
	}
	monitoring, err := upstream.MonitoringCRDs()
	if err != nil {
		return fmt.Errorf("reading the CRDs of monitoring operators: %w", err)
	}
	cp.manifests = append(cp.manifests, queues, monitoring)
	if cp.options.crdsOnly {
		return nil
	}
	gangs, err := cp.tools.PodGroups()
	if err != nil {
		return fmt.Errorf("reading the CRDs of gang schedulers: %w", err)
	}
	cp.manifests = append(cp.manifests, gangs)
	return nil
}

func (cp *ControlPlane) readKueue() (upstream.Manifests, error) {
	tools, err := upstream.Tools(cp.options.kueue)
	if err != nil {
		return upstream.Manifests{}, err
	}
	if cp.options.queueing {
		return tools.Manifests(upstream.Kueue)
	}
	return tools.Queues()
}

// connect writes the kubeconfig file and creates the client.
func (cp *ControlPlane) connect() error {
	if err := os.WriteFile(cp.Kubeconfig(), cp.env.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	var err error
	cp.client, err = upstream.Client(cp.env.Config)
	return err
}

func (cp *ControlPlane) installCRDs() error {
	own := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(crds.TrainJobSource, own); err != nil {
		return fmt.Errorf("reading the CRD of TrainJobSource: %w", err)
	}
	all := []*apiextensionsv1.CustomResourceDefinition{own}
	for _, m := range cp.manifests {
		all = append(all, m.CRDs...)
	}
	if _, err := envtest.InstallCRDs(cp.env.Config, envtest.CRDInstallOptions{CRDs: all, MaxTime: startTimeout}); err != nil {
		return fmt.Errorf("installing CRDs: %w", err)
	}
	return nil
}

// startManagers starts the controllers of JobSet and Trainer. With the option Queueing, startManagers also starts
// Kueue's controller. startManagers then waits until all these controllers are ready. With the option CRDsOnly,
// startManagers starts no controllers.
func (cp *ControlPlane) startManagers() error {
	if cp.options.crdsOnly {
		return nil
	}
	managers, tools := cp.options.listProjects(), cp.tools
	if cp.options.queueing {
		managers = append(managers, upstream.Kueue)
	}
	var waits []func(context.Context) error
	for i, m := range managers {
		if m.Name == upstream.Kueue.Name {
			tools, _ = upstream.Tools(cp.options.kueue) // no error, because findTools has already found the tools
		}
		wait, err := cp.startManager(tools, m, cp.manifests[i])
		if err != nil {
			return fmt.Errorf("starting %s: %w", m.Name, err)
		}
		waits = append(waits, wait)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, wait := range waits {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all servers of the control plane: first the managers, and then the API server and etcd. The managers must
// end first, because a stopping API server waits until all managers have disconnected.
func (cp *ControlPlane) stop() error {
	var errs []error
	for _, p := range cp.managers {
		errs = append(errs, p.Stop())
	}
	if cp.env != nil {
		errs = append(errs, cp.env.Stop())
	}
	return errors.Join(errs...)
}
