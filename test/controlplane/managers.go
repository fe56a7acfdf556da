package controlplane

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// listProjects returns the projects to install, such as JobSet, in the order of their installation. JobSet is
// installed before Trainer, because Trainer uses the API of JobSet.
func (o options) listProjects() []upstream.Manager {
	if o.crdsOnly {
		return []upstream.Manager{upstream.Trainer}
	}
	return []upstream.Manager{upstream.JobSet, upstream.Trainer}
}

// findTools returns the tools that a control plane with the options "o" needs. findTools returns an
// error if a tool is not built.
func findTools(o options) (upstream.Toolbox, error) {
	tools, err := upstream.Tools(o.trainer)
	if err != nil {
		return tools, err
	}
	needed := []string{tools.Path("etcd"), tools.Path("kube-apiserver"), tools.Path("kustomize")}
	for _, m := range o.listProjects() {
		if !o.crdsOnly {
			needed = append(needed, tools.ManagerPath(m))
		}
	}
	if o.pods {
		needed = append(needed, tools.Path(controllerManager))
	}
	if err := upstream.RequireBuilt("tools", needed...); err != nil || !o.queueing {
		return tools, err
	}
	kueue, err := upstream.Tools(o.kueue)
	if err != nil {
		return tools, err
	}
	return tools, upstream.RequireBuilt("kueue-tools", kueue.ManagerPath(upstream.Kueue))
}

// controllerManager is the program that contains Kubernetes' own controllers.
const controllerManager = "kube-controller-manager"

// startControllers runs the Kubernetes controllers that the option Pods needs. startControllers does not wait until
// the controllers are ready, because tests wait for the results of the controllers.
func (cp *ControlPlane) startControllers() error {
	if !cp.options.pods {
		return nil
	}
	folder, err := cp.prepare(cp.Tool(controllerManager))
	if err != nil {
		return err
	}
	p, err := process.Run(exec.Command(folder.script, "--kubeconfig="+cp.Kubeconfig(),
		"--controllers=garbage-collector-controller,job-controller,resourcequota-controller", "--leader-elect=false", "--secure-port=0",
	), folder.log)
	if err == nil {
		cp.managers = append(cp.managers, p)
	}
	return err
}

// startManager starts a manager, and returns a function that waits until the manager is ready. The argument "tools"
// contains the path of the manager's program.
func (cp *ControlPlane) startManager(tools upstream.Toolbox, m upstream.Manager, installed upstream.Manifests) (func(context.Context) error, error) {
	folder, err := cp.prepare(tools.ManagerPath(m))
	if err != nil {
		return nil, err
	}
	kubeconfig, err := cp.managerKubeconfig(m, folder.dir)
	if err != nil {
		return nil, err
	}
	options := upstream.ManagerOptions{Program: folder.script, Dir: folder.dir, Config: cp.env.Config, Kubeconfig: kubeconfig}
	cmd, ready, err := m.Prepare(options, installed)
	if err != nil {
		return nil, err
	}
	p, err := process.Run(cmd, folder.log)
	if err != nil {
		return nil, err
	}
	cp.managers = append(cp.managers, p)
	return func(ctx context.Context) error { return process.WaitFor(ctx, p, ready) }, nil
}

// managerKubeconfig returns the path of a manager's kubeconfig file. The manager always has the rights of an
// administrator. If m.Account contains a user name, the manager sends its requests under this user name. Kueue is
// usually installed in the namespace kueue-system, and its controller has the user name of a ServiceAccount in this
// namespace. For Kueue's controller, m.Account is this user name. If a platform uses Kueue and is not for OpenShift,
// the admission policy does not apply to requests under this user name. On OpenShift, Kueue's controller runs in
// another namespace, and has another user name. If a platform is for OpenShift, its admission policy exempts the user
// name that Kueue's controller has on OpenShift.
func (cp *ControlPlane) managerKubeconfig(m upstream.Manager, dir string) (string, error) {
	if m.Account == "" {
		return cp.Kubeconfig(), nil
	}
	config, err := clientcmd.Load(cp.env.KubeConfig)
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = m.Account, []string{"system:masters"}
	}
	path := filepath.Join(dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
