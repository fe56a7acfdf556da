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

// patience is how long a server may take to start, and Argo CD to do what it should.
const patience = 4 * time.Minute

// startArgoCD starts Redis and two of Argo CD's servers, until the test ends.
func startArgoCD(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	logs := t.TempDir()
	redis, repoServer := freePort(t), freePort(t)
	serve(t, logs, "redis", redis, exec.Command("redis-server", "--bind", "127.0.0.1", "--port", redis, "--save", "", "--appendonly", "no", "--dir", logs))
	serve(t, logs, "repo-server", repoServer, component(t, cp, "argocd-repo-server",
		"--address", "127.0.0.1", "--port", repoServer, "--metrics-address", "127.0.0.1", "--metrics-port", freePort(t),
		"--redis", "127.0.0.1:"+redis, "--disable-tls"))
	metrics := freePort(t)
	serve(t, logs, "application-controller", metrics, component(t, cp, "argocd-application-controller",
		"--kubeconfig", cp.Kubeconfig(), "--namespace", namespace, "--metrics-port", metrics,
		"--redis", "127.0.0.1:"+redis, "--repo-server", "127.0.0.1:"+repoServer, "--repo-server-plaintext"))
}

// component is one of Argo CD's servers: its program is all of them, by the name that it is told.
func component(t *testing.T, cp *controlplane.ControlPlane, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(repo.Tool(t, "argocd"), args...)
	cmd.Env = append(os.Environ(),
		"ARGOCD_BINARY_NAME="+name, "HOME="+t.TempDir(), "ARGOCD_GPG_ENABLED=false",
		"ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG="+cp.Kubeconfig(), "ARGOCD_APPLICATION_CONTROLLER_NAMESPACE="+namespace,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	return cmd
}

// serve runs a server until the test ends, and waits until its port answers.
func serve(t *testing.T, logs, name, port string, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(logs, name+".log"))
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = process.WaitFor(ctx, child, func(context.Context) error {
		connection, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("starting %s: %w", name, err))
	}
}

// freePort is one of the loopback interface that nobody has now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nothing was sent
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}
