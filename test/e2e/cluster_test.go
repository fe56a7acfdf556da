//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/images"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// shared is the cluster of all tests; nil where the lane is not asked for.
var shared *sandbox

// team is the namespace of the document's tenant.
const team = "team"

const (
	// nodes are enough for several jobs at once, and one to lose.
	nodes = 3
	// doomed is the node that a test ends. Only pods of that test go there.
	doomed = "node3"
)

// sandbox is a running cluster with what trainyard generated on it.
type sandbox struct {
	dir        string // of the cluster
	kubectl    string
	trainyard  string // the command, built for these tests
	kubeconfig string
	client     client.Client
	jobs       jobs.Jobs
}

func TestMain(m *testing.M) {
	if os.Getenv("TRAINYARD_E2E") == "" {
		os.Exit(m.Run())
	}
	code, err := runOnCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runOnCluster brings a cluster up, and takes it down again if there was none.
func runOnCluster(m *testing.M) (int, error) {
	ctx := context.Background()
	dir, err := cluster.DefaultDir()
	if err != nil {
		return 0, err
	}
	found, err := cluster.Status(dir)
	if err != nil {
		return 0, err
	}
	options := cluster.Options{Dir: dir, Nodes: nodes, Trainer: trainerTools(), Progress: os.Stderr}
	if err := cluster.Up(ctx, options); err != nil {
		return 0, err
	}
	if shared, err = connect(dir); err != nil {
		return 0, err
	}
	bin, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(bin) }()
	shared.trainyard = filepath.Join(bin, "trainyard")
	if err := errors.Join(load(ctx, dir), repo.Compile("trainyard", shared.trainyard), shared.deliver(ctx)); err != nil {
		return 0, err
	}
	code := m.Run()
	if len(found) > 0 {
		return code, nil
	}
	return code, cluster.Down(ctx, dir, os.Stderr)
}

// load puts images on the nodes: all, and of those that take long to make the ones that are there.
func load(ctx context.Context, dir string) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	var archives []string
	for name := range images.All {
		archives = append(archives, filepath.Join(root, ".tools", "images", name+".tar"))
	}
	for _, archive := range archives {
		if _, err := os.Stat(archive); err != nil {
			return fmt.Errorf("%w: run `make e2e`, which makes images", err)
		}
	}
	for name := range images.Slow {
		archive := filepath.Join(root, ".tools", "images", name+".tar")
		if _, err := os.Stat(archive); err == nil {
			archives = append(archives, archive)
		}
	}
	return cluster.Load(ctx, dir, archives...)
}

func connect(dir string) (*sandbox, error) {
	s := &sandbox{dir: dir, kubeconfig: cluster.Kubeconfig(dir)}
	tools, err := upstream.Tools("")
	if err != nil {
		return nil, err
	}
	s.kubectl = tools.Path("kubectl")
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	if s.client, err = upstream.Client(config); err != nil {
		return nil, err
	}
	s.jobs, err = jobs.Connect(config)
	return s, err
}

// start is the cluster, for tests that need one.
func start(t *testing.T) *sandbox {
	t.Helper()
	if shared == nil {
		t.Skip("needs root, images and minutes: run `make e2e`")
	}
	return shared
}

// deliver gives the cluster what trainyard generates, as a person would.
func (s *sandbox) deliver(ctx context.Context) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	err = s.client.Create(ctx, restricted(team))
	if client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("making namespace %s: %w", team, err)
	}
	args := []string{"generate", "-f", "test/e2e/testdata/platform.yaml"}
	if older := trainerTools(); older != "" {
		args = append(args, "-f", "test/e2e/testdata/"+older+".yaml")
	}
	cmd := exec.CommandContext(ctx, s.trainyard, args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	generated, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("generating: %w", err)
	}
	if out, err := s.try("", "taint", "node", doomed, "doomed=yes:NoSchedule", "--overwrite"); err != nil {
		return fmt.Errorf("keeping pods from %s: %w: %s", doomed, err, out)
	}
	if out, err := s.try(string(generated), "apply", "--server-side", "-f", "-"); err != nil {
		return fmt.Errorf("applying what trainyard generated: %w: %s", err, out)
	}
	return nil
}

// trainerTools is another version of Trainer to run everything on: a folder below tools/, with a
// layer for documents in testdata. It is the default version where it is empty.
func trainerTools() string { return os.Getenv("TRAINYARD_E2E_TRAINER") }

// try runs kubectl and returns all it said.
func (s *sandbox) try(stdin string, args ...string) (string, error) {
	cmd := exec.Command(s.kubectl, append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// eventually polls until check holds.
func eventually(t *testing.T, patience time.Duration, check func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("gave up after %s: %v", patience, err)
		}
	}
}
