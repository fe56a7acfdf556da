package argocd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/repo"
)

// serverTimeout limits how long a test waits for a server to start, or for Argo CD to reach an expected state.
const serverTimeout = 4 * time.Minute

// servers contains the settings of the servers that belong to one Argo CD.
type servers struct {
	cp                *controlplane.ControlPlane
	logs, plugins     string // paths of folders; plugins contains sockets
	redis, repoServer string // ports
	environment       []string
}

// startArgoCD starts Redis, the repo-server and the application-controller. The argument "environment" contains
// additional environment variables for the servers of Argo CD.
func startArgoCD(t *testing.T, cp *controlplane.ControlPlane, environment ...string) servers {
	t.Helper()
	s := servers{cp: cp, logs: t.TempDir(), plugins: t.TempDir(), redis: freePort(t), repoServer: freePort(t), environment: environment}
	s.serve(t, "redis", port(s.redis), exec.Command("redis-server", "--bind", "127.0.0.1", "--port", s.redis, "--save", "", "--appendonly", "no", "--dir", s.logs))
	s.serve(t, "repo-server", port(s.repoServer), s.componentCommand(t, "argocd-repo-server",
		"--address", "127.0.0.1", "--port", s.repoServer, "--metrics-address", "127.0.0.1", "--metrics-port", freePort(t),
		"--redis", "127.0.0.1:"+s.redis, "--disable-tls"))
	metrics := freePort(t)
	s.serve(t, "application-controller", port(metrics), s.componentCommand(t, "argocd-application-controller",
		"--kubeconfig", cp.Kubeconfig(), "--namespace", argocdNamespace, "--metrics-port", metrics,
		"--redis", "127.0.0.1:"+s.redis, "--repo-server", "127.0.0.1:"+s.repoServer, "--repo-server-plaintext"))
	return s
}

func (s servers) startSets(t *testing.T) {
	t.Helper()
	probes := freePort(t)
	s.serve(t, "applicationset-controller", port(probes), s.componentCommand(t, "argocd-applicationset-controller",
		"--kubeconfig", s.cp.Kubeconfig(), "--namespace", argocdNamespace, "--argocd-repo-server", "127.0.0.1:"+s.repoServer, "--repo-server-plaintext",
		"--probe-addr", "127.0.0.1:"+probes, "--metrics-addr", "127.0.0.1:"+freePort(t), "--webhook-addr", "127.0.0.1:"+freePort(t)))
}

// startPlugin starts the server of a plugin. The folder "settings" contains the configuration of the plugin, and
// the folder "programs" is added to PATH.
func (s servers) startPlugin(t *testing.T, name, settings, programs string) {
	t.Helper()
	cmd := s.componentCommand(t, "argocd-cmp-server", "--config-dir-path", settings)
	cmd.Env = append(cmd.Env, "PATH="+programs+":"+os.Getenv("PATH"), "ARGOCD_CMP_WORKDIR="+t.TempDir())
	s.serve(t, "plugin", address{"unix", filepath.Join(s.plugins, name+".sock")}, cmd)
}

// componentCommand returns a command that starts a server of Argo CD. One program contains all servers, and the
// environment variable ARGOCD_BINARY_NAME selects the server.
func (s servers) componentCommand(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(repo.Tool(t, "argocd"), args...)
	cmd.Env = append(os.Environ(),
		"ARGOCD_BINARY_NAME="+name, "HOME="+t.TempDir(), "ARGOCD_GPG_ENABLED=false", "ARGOCD_PLUGINSOCKFILEPATH="+s.plugins,
		"ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG="+s.cp.Kubeconfig(), "ARGOCD_APPLICATION_CONTROLLER_NAMESPACE="+argocdNamespace,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Env = append(cmd.Env, s.environment...)
	return cmd
}

// address is a TCP address or the path of a Unix socket.
type address struct{ network, address string }

func port(number string) address { return address{"tcp", "127.0.0.1:" + number} }

// serve starts a server and waits until the server responds.
func (s servers) serve(t *testing.T, name string, at address, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(s.logs, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Run(cmd, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Stop()
		if t.Failed() {
			t.Log(process.Tail(child.LogPath()))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), serverTimeout)
	defer cancel()
	err = process.WaitFor(ctx, child, func(context.Context) error {
		connection, err := net.Dial(at.network, at.address)
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("starting %s: %w", name, err))
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // an error is harmless, because no client has connected to the listener
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}
