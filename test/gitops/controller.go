//go:build linux

package gitops

import (
	"context"
	"fmt"
	"os/exec"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/kubeconfig"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// tokenSeconds is the lifetime of the controller's token: one year, because nothing renews the token while the
// sandbox runs.
const tokenSeconds = 365 * 24 * 60 * 60

// startController builds the controller and starts it. If a controller already runs, startController
// stops it first.
func (g *GitOps) startController(ctx context.Context) error {
	d := g.daemon(controller)
	if err := d.Stop(); err != nil {
		return err
	}
	if err := repo.Compile("trainyard-controller", g.path(controller)); err != nil {
		return err
	}
	config := g.path("controller.kubeconfig")
	if err := g.writeKubeconfig(ctx, config); err != nil {
		return err
	}
	cmd := exec.Command(g.path(controller), "--kubeconfig", config,
		"--metrics-address", g.addresses.Metrics, "--health-address", g.addresses.Health, "--webhook-address", g.addresses.Hooks,
		"--allow-http", g.addresses.Git, "--allow-address", "127.0.0.1/32")
	if err := d.Start(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return process.WaitFor(ctx, d, upstream.OK("http://"+g.addresses.Health+"/readyz"))
}

// writeKubeconfig writes a kubeconfig with a token of the controller's ServiceAccount. With this kubeconfig, the
// controller has only the rights that the generated objects grant.
func (g *GitOps) writeKubeconfig(ctx context.Context, path string) error {
	config, c, err := g.connect()
	if err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: controller}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))}}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		return fmt.Errorf("requesting a token of ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	return kubeconfig.Write(path, config.Host, config.CAData, token.Status.Token)
}
