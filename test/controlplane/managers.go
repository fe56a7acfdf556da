package controlplane

import (
	"context"
	"os/exec"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// upstream is what to install, in this order: Trainer's own API builds on JobSet's.
func (o options) upstream() []upstream.Manager {
	if o.crdsOnly {
		return []upstream.Manager{upstream.Trainer}
	}
	return []upstream.Manager{upstream.JobSet, upstream.Trainer}
}

// findTools finds what these options need.
func findTools(o options) (upstream.Toolbox, error) {
	tools, err := upstream.Tools(o.trainer)
	if err != nil {
		return tools, err
	}
	needed := []string{tools.Path("etcd"), tools.Path("kube-apiserver"), tools.Path("kustomize")}
	for _, m := range o.upstream() {
		if !o.crdsOnly {
			needed = append(needed, tools.ManagerPath(m))
		}
	}
	if o.pods {
		needed = append(needed, tools.Path(controllerManager))
	}
	return tools, upstream.Need("tools", needed...)
}

// controllerManager runs Kubernetes' own controllers.
const controllerManager = "kube-controller-manager"

// startControllers runs those of Kubernetes' controllers that tests ask for, if they do. They
// serve nothing; tests wait for what they do.
func (cp *ControlPlane) startControllers() error {
	if !cp.options.pods {
		return nil
	}
	home, err := cp.prepare(cp.Tool(controllerManager))
	if err != nil {
		return err
	}
	p, err := process.Run(exec.Command(home.start, "--kubeconfig="+cp.Kubeconfig(),
		"--controllers=garbage-collector-controller,job-controller,resourcequota-controller", "--leader-elect=false", "--secure-port=0",
	), home.log)
	if err == nil {
		cp.managers = append(cp.managers, p)
	}
	return err
}

// startManager runs a manager. The function it returns waits until the manager is ready.
func (cp *ControlPlane) startManager(m upstream.Manager, installed upstream.Manifests) (func(context.Context) error, error) {
	home, err := cp.prepare(cp.tools.ManagerPath(m))
	if err != nil {
		return nil, err
	}
	site := upstream.Site{Program: home.start, Dir: home.dir, Config: cp.env.Config, Kubeconfig: cp.Kubeconfig()}
	cmd, ready, err := m.Prepare(site, installed)
	if err != nil {
		return nil, err
	}
	p, err := process.Run(cmd, home.log)
	if err != nil {
		return nil, err
	}
	cp.managers = append(cp.managers, p)
	return func(ctx context.Context) error { return process.WaitFor(ctx, p, ready) }, nil
}
