package controlplane

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// manager is an upstream controller that runs as a child process.
type manager struct {
	name    string   // of its binary
	module  string   // the Go module it is built from
	folders []string // kustomize folders of that module with its CRDs and webhooks
	config  string   // its configuration, with $PORT, $HEALTH and $CERTS to fill in
}

var jobsetManager = manager{
	name: "jobset", module: "sigs.k8s.io/jobset", folders: []string{"config/default"},
	config: `
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
internalCertManagement: {enable: false}
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: $PORT, certDir: "$CERTS"}
health: {healthProbeBindAddress: "$HEALTH"}
`,
}

var trainerManager = manager{
	name: "trainer-controller-manager", module: "github.com/kubeflow/trainer/v2",
	folders: []string{"manifests/base/crds", "manifests/base/webhook"},
	// Trainer takes no certificate folder: it looks below TMPDIR, where startManager puts it.
	config: `
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
certManagement: {enable: false}
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: $PORT}
health: {healthProbeBindAddress: "$HEALTH"}
`,
}

// upstream is what to install, in this order: Trainer's own API builds on JobSet's.
func (o options) upstream() []manager {
	if o.crdsOnly {
		return []manager{trainerManager}
	}
	return []manager{jobsetManager, trainerManager}
}

// startManager points a manager's webhooks at a free port of this machine and runs it there.
// The function it returns waits until the manager is ready.
func (cp *ControlPlane) startManager(m manager, installed manifests) (func(context.Context) error, error) {
	home, err := cp.prepare(cp.tools.manager(m.name))
	if err != nil {
		return nil, err
	}
	hooks := &envtest.WebhookInstallOptions{
		LocalServingHost: "127.0.0.1", MutatingWebhooks: installed.mutating, ValidatingWebhooks: installed.validating,
	}
	if err := hooks.Install(cp.env.Config); err != nil {
		return nil, fmt.Errorf("installing its webhooks: %w", err)
	}
	health, err := freeAddress()
	if err != nil {
		return nil, err
	}
	config, err := m.configure(home.dir, hooks, health)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(home.start, "--config="+config)
	cmd.Env = append(os.Environ(), "TMPDIR="+home.dir, "KUBECONFIG="+cp.Kubeconfig())
	p, err := run(cmd, home.log)
	if err != nil {
		return nil, err
	}
	cp.managers = append(cp.managers, p)
	ready := answers("http://"+health+"/readyz", webhookURLs(hooks), hooks.LocalServingCAData)
	return func(ctx context.Context) error { return p.waitFor(ctx, ready) }, nil
}

// configure writes what a manager reads when it starts, and returns its configuration file.
func (m manager) configure(dir string, hooks *envtest.WebhookInstallOptions, health string) (string, error) {
	certs := filepath.Join(dir, "k8s-webhook-server", "serving-certs") // controller-runtime's default below TMPDIR
	if err := os.Mkdir(filepath.Dir(certs), 0o700); err != nil {
		return "", fmt.Errorf("placing its certificates: %w", err)
	}
	if err := os.Rename(hooks.LocalServingCertDir, certs); err != nil {
		return "", fmt.Errorf("placing its certificates: %w", err)
	}
	values := map[string]string{"PORT": strconv.Itoa(hooks.LocalServingPort), "HEALTH": health, "CERTS": certs}
	text := os.Expand(m.config, func(key string) string { return values[key] })
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing its configuration: %w", err)
	}
	return path, nil
}

// freeAddress is an address of this machine that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
