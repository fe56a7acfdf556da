//go:build linux

package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/gitserver"
	"github.com/trainyard/trainyard/test/process"
)

// Namespace, Source and secretName are names of Kubernetes objects in the sandbox. gitServer and controller are names
// of servers, as `sandbox status` prints them.
const (
	// Namespace is the namespace of the tenant.
	Namespace = "team"
	// Source is the name of the TrainJobSource, and of its repository.
	Source = "jobs"

	secretName = "git-credentials"
	gitServer  = "git-server"
	controller = "trainyard-controller"
)

// startTimeout is the maximum time for the start of a server on a busy machine.
const startTimeout = 2 * time.Minute

// GitOps adds TrainJobs from Git to a sandbox.
type GitOps struct {
	// Dir is the folder of the sandbox.
	Dir string
	// Progress receives one line of text for each step.
	Progress io.Writer

	addresses addresses
	password  string
}

// addresses are the addresses of the servers, as HOST:PORT. Up stores the addresses in the folder of the sandbox. Later
// calls of Up use the same addresses, so that existing clones of the repository remain valid.
type addresses struct {
	Git     string `json:"git"`
	Metrics string `json:"metrics"`
	Health  string `json:"health"`
	Hooks   string `json:"hooks"`
}

// Up adds the Git server, the objects and the controller to a running sandbox. A second call of Up applies the objects
// again, and restarts the controller with the current source code. It starts the Git server only if the Git server has
// stopped.
func (g *GitOps) Up(ctx context.Context) error {
	if err := g.requireSandbox(); err != nil {
		return err
	}
	if err := g.prepare(); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{gitServer, g.startGitServer},
		{"objects", g.applyObjects},
		{controller, g.startController},
	} {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", step.name, err)
		}
		_, _ = fmt.Fprintf(g.Progress, "%-24s %6.1f s\n", step.name, time.Since(began).Seconds())
	}
	return nil
}

// requireSandbox checks that all servers of the sandbox run. It ignores the Git server and the controller, because Up
// starts both.
func (g *GitOps) requireSandbox() error {
	servers, err := cluster.Status(g.Dir)
	if err != nil {
		return err
	}
	if len(servers) == 0 {
		return fmt.Errorf("folder %s has no cluster: run `sandbox up` first", g.Dir)
	}
	for _, s := range servers {
		if s.PID == 0 && s.Name != gitServer && s.Name != controller {
			return fmt.Errorf("server %s of the cluster in folder %s does not run: run `sandbox up` first", s.Name, g.Dir)
		}
	}
	return nil
}

// path returns the path of a file below the folder "gitops" in the sandbox's folder.
func (g *GitOps) path(elements ...string) string {
	return filepath.Join(append([]string{g.Dir, "gitops"}, elements...)...)
}

// prepare creates the folder, the password and the addresses of the servers, unless they already
// exist.
func (g *GitOps) prepare() error {
	if err := os.MkdirAll(g.path("repositories"), 0o700); err != nil {
		return fmt.Errorf("creating the folder of the Git server: %w", err)
	}
	if err := g.load(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(g.path("password"), []byte(newPassword()), 0o600); err != nil {
		return fmt.Errorf("writing the password: %w", err)
	}
	chosen, err := chooseAddresses()
	if err != nil {
		return err
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		return err
	}
	if err := os.WriteFile(g.path("addresses.json"), text, 0o600); err != nil {
		return fmt.Errorf("writing the addresses: %w", err)
	}
	return g.load()
}

// load reads the password and the addresses of the servers from files. load fails with fs.ErrNotExist
// if Up has not yet written the password and the addresses.
func (g *GitOps) load() error {
	text, err := os.ReadFile(g.path("addresses.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &g.addresses); err != nil {
		return fmt.Errorf("reading the addresses: %w", err)
	}
	password, err := os.ReadFile(g.path("password"))
	g.password = string(password)
	return err
}

// chooseAddresses returns addresses on which no program listens.
func chooseAddresses() (a addresses, err error) {
	for _, address := range []*string{&a.Git, &a.Metrics, &a.Health, &a.Hooks} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return a, fmt.Errorf("finding a free address: %w", err)
		}
		defer func() { _ = listener.Close() }() // not earlier, because a closed address could be chosen again
		*address = listener.Addr().String()
	}
	return a, nil
}

// daemon returns the server with the given name: the Git server or the controller.
func (g *GitOps) daemon(name string) process.Daemon { return cluster.AddedServer(g.Dir, name) }

// Down stops the Git server and the controller, and removes the repository. The
// method Down does not delete the generated objects in the cluster.
func (g *GitOps) Down() error {
	if err := errors.Join(g.daemon(controller).Stop(), g.daemon(gitServer).Stop()); err != nil {
		return err
	}
	return os.RemoveAll(g.path())
}

// URL returns the URL of the repository. The URL contains the name and the password of the user.
func (g *GitOps) URL() (string, error) {
	if err := g.load(); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("folder %s has no Git server: run `gitops up` first", g.Dir)
	} else if err != nil {
		return "", err
	}
	return "http://" + gitserver.User + ":" + g.password + "@" + g.addresses.Git + "/" + Source + ".git", nil
}

// Status writes the state of the servers and their addresses. Status fails if a server does not
// run.
func (g *GitOps) Status(out io.Writer) error {
	url, err := g.URL()
	if err != nil {
		return err
	}
	for _, name := range []string{gitServer, controller} {
		text := "does not run: run `gitops up`"
		if pid := g.daemon(name).PID(); pid != 0 {
			text = fmt.Sprintf("runs, process %d", pid)
		} else {
			err = fmt.Errorf("%s does not run: see %s", name, g.daemon(name).LogPath())
		}
		_, _ = fmt.Fprintf(out, "%-22s %s\n", name, text)
	}
	for _, line := range [][2]string{
		{"repository", url},
		{"TrainJobSource", Namespace + "/" + Source},
		{"webhook", "http://" + g.addresses.Hooks + "/hook/" + Namespace + "/" + Source},
		{"metrics", "http://" + g.addresses.Metrics + "/metrics"},
	} {
		_, _ = fmt.Fprintf(out, "%-22s %s\n", line[0], line[1])
	}
	return err
}
