package upstream

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Manager is an upstream controller that runs as a process of this machine, as an
// administrator of the cluster.
type Manager struct {
	// Name is that of its binary.
	Name string

	module  string   // the Go module it is built from
	folders []string // kustomize folders of that module with its CRDs and webhooks
	config  string   // its configuration, with $PORT, $HEALTH and $CERTS to fill in
	args    []string // what it is told besides
	wants   string   // a folder of the machine where it must find its certificates too
}

// JobSet is the controller of JobSets, on whose API Trainer builds.
var JobSet = Manager{
	Name: "jobset", module: "sigs.k8s.io/jobset", folders: []string{"config/default"},
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

// Trainer is Kubeflow Trainer's controller.
var Trainer = Manager{
	Name: "trainer-controller-manager", module: "github.com/kubeflow/trainer/v2",
	folders: []string{"manifests/base/crds", "manifests/base/webhook"},
	// Trainer takes no certificate folder: it looks below TMPDIR, where Prepare puts it.
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

// Site is where a manager runs.
type Site struct {
	// Program becomes the manager when it runs.
	Program string
	// Dir is an existing folder for its files.
	Dir string
	// Config connects to the API as an administrator, and Kubeconfig, a file, as who the manager is.
	Config     *rest.Config
	Kubeconfig string
}

// Prepare points a manager's webhooks at a free port of this machine and returns the command
// that serves them there, and what tells whether it is ready.
func (m Manager) Prepare(at Site, installed Manifests) (*exec.Cmd, func(context.Context) error, error) {
	hooks := &envtest.WebhookInstallOptions{
		LocalServingHost: "127.0.0.1", MutatingWebhooks: installed.mutating, ValidatingWebhooks: installed.validating,
	}
	if err := hooks.Install(at.Config); err != nil {
		return nil, nil, fmt.Errorf("installing its webhooks: %w", err)
	}
	if err := pointConversions(installed, at, hooks); err != nil {
		return nil, nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	config, certs, err := m.configure(at.Dir, hooks, health)
	if err != nil {
		return nil, nil, err
	}
	args := append([]string{"--config=" + config}, m.args...)
	cmd := exec.Command(at.Program, args...)
	if m.wants != "" {
		cmd = withFolder(certs, m.wants, at.Program, args...)
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+at.Dir, "KUBECONFIG="+at.Kubeconfig)
	return cmd, answers("http://"+health+"/readyz", webhookURLs(hooks), hooks.LocalServingCAData), nil
}

// configure writes what a manager reads when it starts, and returns its configuration file and
// the folder with its certificates.
func (m Manager) configure(dir string, hooks *envtest.WebhookInstallOptions, health string) (config, certs string, err error) {
	certs, err = placeCertificates(dir, hooks.LocalServingCertDir)
	if err != nil {
		return "", "", fmt.Errorf("placing its certificates: %w", err)
	}
	values := map[string]string{"PORT": strconv.Itoa(hooks.LocalServingPort), "HEALTH": health, "CERTS": certs}
	text := os.Expand(m.config, func(key string) string { return values[key] })
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", "", fmt.Errorf("writing its configuration: %w", err)
	}
	return path, certs, nil
}

// placeCertificates copies certificates to controller-runtime's default folder below TMPDIR,
// over those of an earlier start: a folder cannot be moved to another file system.
func placeCertificates(tmpdir, from string) (string, error) {
	certs := filepath.Join(tmpdir, "k8s-webhook-server", "serving-certs")
	if err := os.RemoveAll(certs); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(certs), 0o700); err != nil {
		return "", err
	}
	if err := os.CopyFS(certs, os.DirFS(from)); err != nil {
		return "", err
	}
	return certs, os.RemoveAll(from)
}

// freeAddress is an address of this machine that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
