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

// Manager is an upstream controller that runs as a process of this machine, with the rights of an administrator of
// the cluster.
type Manager struct {
	// Name is the name of the binary.
	Name string
	// Account is the user name of the controller in a usual installation. Account is empty if no test needs the user
	// name.
	Account string

	module  string   // the Go module that contains the manager
	folders []string // the module's kustomize folders for CRDs and webhooks
	config  string   // the manager's configuration, with the variables $PORT, $HEALTH and $CERTS
	args    []string // additional arguments
	certDir string   // an additional folder below /etc from which the manager reads certificates
}

// JobSet is the controller of JobSets. Trainer creates a JobSet for each TrainJob.
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
	// Trainer has no option for the folder of its certificates. Trainer reads its certificates from a folder
	// below TMPDIR, where the method Prepare puts them.
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

// ManagerOptions configure the process of a manager.
type ManagerOptions struct {
	// Program is the path of the manager's program, or of a script that runs it.
	Program string
	// Dir is an existing folder for the files of the manager.
	Dir string
	// Config is the configuration of a client with the rights of an administrator. The method Prepare uses Config to
	// install webhooks. Kubeconfig is the path of the manager's own kubeconfig.
	Config     *rest.Config
	Kubeconfig string
}

// Prepare configures the API server to call a manager's webhooks at a free port of this machine. Prepare returns the
// command that runs the manager, and a function that succeeds once the manager is ready.
func (m Manager) Prepare(o ManagerOptions, installed Manifests) (*exec.Cmd, func(context.Context) error, error) {
	hooks := &envtest.WebhookInstallOptions{
		LocalServingHost: "127.0.0.1", MutatingWebhooks: installed.mutating, ValidatingWebhooks: installed.validating,
	}
	if err := hooks.Install(o.Config); err != nil {
		return nil, nil, fmt.Errorf("installing the webhooks of the controller: %w", err)
	}
	if err := redirectConversions(o.Config, installed, hooks); err != nil {
		return nil, nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	config, certs, err := m.configure(o.Dir, hooks, health)
	if err != nil {
		return nil, nil, err
	}
	args := append([]string{"--config=" + config}, m.args...)
	cmd := exec.Command(o.Program, args...)
	if m.certDir != "" {
		cmd = withFolder(certs, m.certDir, o.Program, args...)
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+o.Dir, "KUBECONFIG="+o.Kubeconfig)
	return cmd, readyCheck("http://"+health+"/readyz", webhookURLs(hooks), hooks.LocalServingCAData), nil
}

// configure writes the configuration and the certificates of a manager. configure returns the path of the configuration
// file, and the folder of the certificates.
func (m Manager) configure(dir string, hooks *envtest.WebhookInstallOptions, health string) (config, certs string, err error) {
	certs, err = placeCertificates(dir, hooks.LocalServingCertDir)
	if err != nil {
		return "", "", fmt.Errorf("moving the certificates of the controller: %w", err)
	}
	values := map[string]string{"PORT": strconv.Itoa(hooks.LocalServingPort), "HEALTH": health, "CERTS": certs}
	text := os.Expand(m.config, func(key string) string { return values[key] })
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", "", fmt.Errorf("writing the configuration of the controller: %w", err)
	}
	return path, certs, nil
}

// placeCertificates moves certificates to controller-runtime's default folder below TMPDIR, and replaces the certificates of
// an earlier start. placeCertificates copies the folder and removes the original, because a folder cannot be renamed to
// another file system.
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

// freeAddress returns an address of this machine with a free port.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
