//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard/test/upstream"
)

// kueueFor are the tools of a Kueue that writes the fields that this Trainer has.
func kueueFor(trainer string) (upstream.Toolbox, error) {
	fitting, found := map[string]string{"trainer-2.3": "kueue-0.19", "trainer-2.1": "kueue-0.15"}[trainer]
	if !found {
		return upstream.Toolbox{}, fmt.Errorf("no Kueue here is known to fit %s", trainer)
	}
	return upstream.Tools(fitting)
}

func (c *cluster) startKueue(ctx context.Context) error {
	tools, err := kueueFor(c.Trainer)
	if err != nil {
		return err
	}
	return c.startManager(tools, upstream.Kueue)(ctx)
}

// startManager installs an upstream project and runs its controller.
func (c *cluster) startManager(tools upstream.Toolbox, m upstream.Manager) func(context.Context) error {
	return func(ctx context.Context) error {
		if !daemon(c.Dir, m.Name).Ended() {
			return nil
		}
		manifests, err := tools.Manifests(m)
		if err != nil {
			return err
		}
		if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{CRDs: manifests.CRDs, MaxTime: patience}); err != nil {
			return fmt.Errorf("installing CRDs: %w", err)
		}
		site := upstream.Site{
			Program: tools.ManagerPath(m), Dir: c.path(m.Name), Config: c.config, Kubeconfig: c.kubeconfig(m.Name),
		}
		if err := os.MkdirAll(site.Dir, 0o700); err != nil {
			return err
		}
		cmd, ready, err := m.Prepare(site, manifests)
		if err != nil {
			return err
		}
		return c.run(ctx, m.Name, cmd, ready)
	}
}
