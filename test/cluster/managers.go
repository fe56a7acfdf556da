//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard/test/upstream"
)

// matchingKueue returns the tools for a version of Kueue that supports the given version of Trainer.
func matchingKueue(trainer string) (upstream.Toolbox, error) {
	folder, found := map[string]string{"trainer-2.3": "kueue-0.19", "trainer-2.1": "kueue-0.15"}[trainer]
	if !found {
		return upstream.Toolbox{}, fmt.Errorf("no version of Kueue in tools/ supports %s", trainer)
	}
	return upstream.Tools(folder)
}

func (c *cluster) startKueue(ctx context.Context) error {
	tools, err := matchingKueue(c.Trainer)
	if err != nil {
		return err
	}
	return c.startManager(tools, upstream.Kueue)(ctx)
}

// startManager returns a function that installs an upstream project, such as Trainer, and runs its controller.
func (c *cluster) startManager(tools upstream.Toolbox, m upstream.Manager) func(context.Context) error {
	return func(ctx context.Context) error {
		if !newDaemon(c.Dir, m.Name).Ended() {
			return nil
		}
		manifests, err := tools.Manifests(m)
		if err != nil {
			return err
		}
		if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{CRDs: manifests.CRDs, MaxTime: startTimeout}); err != nil {
			return fmt.Errorf("installing CRDs: %w", err)
		}
		options := upstream.ManagerOptions{
			Program: tools.ManagerPath(m), Dir: c.filePath(m.Name), Config: c.config, Kubeconfig: c.kubeconfigPath(m.Name),
		}
		if err := os.MkdirAll(options.Dir, 0o700); err != nil {
			return err
		}
		cmd, ready, err := m.Prepare(options, manifests)
		if err != nil {
			return err
		}
		return c.run(ctx, m.Name, cmd, ready)
	}
}
