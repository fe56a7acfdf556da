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

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// startPatience bounds each wait of a start; a busy machine may need most of it.
const startPatience = 2 * time.Minute

// ControlPlane is one running Kubernetes API with Trainer and JobSet on it.
type ControlPlane struct {
	dir       string // holds every file of this control plane
	options   options
	tools     upstream.Toolbox
	env       *envtest.Environment
	manifests []upstream.Manifests // of what options.upstream names, in that order
	managers  []*process.Child
	logs      []string
	client    client.Client
}

// Config connects to the API as an administrator.
func (cp *ControlPlane) Config() *rest.Config { return rest.CopyConfig(cp.env.Config) }

// Client connects to the API as an administrator. It reads without a cache and knows
// Kubernetes' own kinds, CustomResourceDefinitions, Trainer and JobSet.
func (cp *ControlPlane) Client() client.Client { return cp.client }

// Kubeconfig is the path of an administrator's kubeconfig file.
func (cp *ControlPlane) Kubeconfig() string { return filepath.Join(cp.dir, "kubeconfig") }

// Tool is the path of a built tool, such as kubectl or kustomize.
func (cp *ControlPlane) Tool(name string) string { return cp.tools.Path(name) }

// Logs are the files that the servers write to.
func (cp *ControlPlane) Logs() []string { return cp.logs }

// launch starts a control plane. When it fails, it leaves logs but nothing running.
func launch(o options) (*ControlPlane, error) {
	tools, err := findTools(o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the control plane: %w", err)
	}
	cp := &ControlPlane{dir: dir, options: o, tools: tools}
	for _, step := range []func() error{cp.startAPI, cp.connect, cp.installCRDs, cp.startManagers, cp.startControllers} {
		if err := step(); err != nil {
			return nil, errors.Join(err, cp.stop(), fmt.Errorf("the logs are in %s", dir))
		}
	}
	return cp, nil
}

// startAPI runs etcd and kube-apiserver, never an existing cluster. While they start, it
// reads what will be installed on them.
func (cp *ControlPlane) startAPI() error {
	etcd, etcdErr := cp.prepare(cp.Tool("etcd"))
	api, apiErr := cp.prepare(cp.Tool("kube-apiserver"))
	if err := errors.Join(etcdErr, apiErr); err != nil {
		return err
	}
	cp.env = &envtest.Environment{
		UseExistingCluster:       ptr.To(false),
		ControlPlaneStartTimeout: startPatience,
		ControlPlane: envtest.ControlPlane{
			Etcd:      &envtest.Etcd{Path: etcd.start, DataDir: etcd.dir, Out: etcd.log, Err: etcd.log},
			APIServer: &envtest.APIServer{Path: api.start, CertDir: api.dir, Out: api.log, Err: api.log},
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

// readManifests finds out what each manager has to find in the API.
func (cp *ControlPlane) readManifests() error {
	for _, m := range cp.options.upstream() {
		read, err := cp.tools.Manifests(m)
		if err != nil {
			return fmt.Errorf("reading the manifests of %s: %w", m.Name, err)
		}
		cp.manifests = append(cp.manifests, read)
	}
	kueue, err := upstream.Tools(cp.options.kueue)
	if err != nil {
		return err
	}
	queues, err := kueue.Queues()
	if err != nil {
		return fmt.Errorf("reading the CRDs of Kueue: %w", err)
	}
	watching, err := upstream.Watching()
	if err != nil {
		return fmt.Errorf("reading the CRDs of what watches: %w", err)
	}
	cp.manifests = append(cp.manifests, queues, watching)
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

// connect writes the kubeconfig file and makes the client.
func (cp *ControlPlane) connect() error {
	if err := os.WriteFile(cp.Kubeconfig(), cp.env.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	var err error
	cp.client, err = upstream.Client(cp.env.Config)
	return err
}

// installCRDs makes the API serve the kinds of Trainer and JobSet.
func (cp *ControlPlane) installCRDs() error {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, m := range cp.manifests {
		crds = append(crds, m.CRDs...)
	}
	if _, err := envtest.InstallCRDs(cp.env.Config, envtest.CRDInstallOptions{CRDs: crds, MaxTime: startPatience}); err != nil {
		return fmt.Errorf("installing CRDs: %w", err)
	}
	return nil
}

// startManagers runs Trainer and JobSet, if they were asked for, and waits until both serve.
func (cp *ControlPlane) startManagers() error {
	if cp.options.crdsOnly {
		return nil
	}
	var waits []func(context.Context) error
	for i, m := range cp.options.upstream() {
		wait, err := cp.startManager(m, cp.manifests[i])
		if err != nil {
			return fmt.Errorf("starting %s: %w", m.Name, err)
		}
		waits = append(waits, wait)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	for _, wait := range waits {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends every server, the managers first, so that the API does not wait for them.
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
