//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard/test/upstream"
)

// startManagers installs JobSet and Trainer and runs their controllers.
func (c *cluster) startManagers(ctx context.Context) error {
	for _, m := range []upstream.Manager{upstream.JobSet, upstream.Trainer} {
		if !daemon(c.Dir, m.Name).Ended() {
			continue
		}
		if err := c.startManager(ctx, m); err != nil {
			return fmt.Errorf("starting %s: %w", m.Name, err)
		}
	}
	return nil
}

func (c *cluster) startManager(ctx context.Context, m upstream.Manager) error {
	manifests, err := c.tools.Manifests(m)
	if err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{CRDs: manifests.CRDs, MaxTime: patience}); err != nil {
		return fmt.Errorf("installing CRDs: %w", err)
	}
	site := upstream.Site{
		Program: c.tools.ManagerPath(m), Dir: c.path(m.Name), Config: c.config, Kubeconfig: c.kubeconfig("admin"),
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
