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

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/images"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// sharedCluster is the cluster of all tests. It is nil if TRAINYARD_E2E is not set.
var sharedCluster *sandbox

// tenantName is the name of the tenant in testdata/platform.yaml, and of its namespace.
const tenantName = "team"

const (
	// Three cluster nodes are enough to run several jobs at once while one cluster node is stopped.
	nodeCount = 3
	// expendableNode is the cluster node that some tests stop. A taint keeps the pods of all other tests away from this
	// cluster node.
	expendableNode = "node3"
)

type sandbox struct {
	dir         string // the folder of the cluster
	kubectlPath string
	trainyard   string // the path of the command, built for these tests
	kubeconfig  string
	client      client.Client
	jobs        jobs.Jobs
	controller  runningController
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

// runOnCluster brings up the cluster, runs all tests, and takes the cluster down. If the cluster was already up before
// the tests, runOnCluster leaves it up.
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
	options := cluster.Options{Dir: dir, Nodes: nodeCount, Trainer: trainerTools(), Kueue: wantsKueue(), Progress: os.Stderr}
	if err := cluster.Up(ctx, options); err != nil {
		return 0, err
	}
	if sharedCluster, err = connect(dir); err != nil {
		return 0, err
	}
	bin, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(bin) }()
	sharedCluster.trainyard = filepath.Join(bin, "trainyard")
	if err := errors.Join(loadImages(ctx, dir), repo.Compile("trainyard", sharedCluster.trainyard), sharedCluster.applyPlatform(ctx)); err != nil {
		return 0, err
	}
	ctrl.SetLogger(logr.Discard()) // failures are returned as errors
	code := m.Run()
	if err := sharedCluster.controller.end(); err != nil {
		return 0, fmt.Errorf("running the controller: %w", err)
	}
	if len(found) > 0 {
		return code, nil
	}
	return code, cluster.Down(ctx, dir, os.Stderr)
}

// loadImages loads images into the cluster. It skips images that do not exist in .tools/images, because each
// make target builds only the images that its tests use.
func loadImages(ctx context.Context, dir string) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	var archives []string
	for _, all := range []map[string]images.Image{images.All, images.Slow} {
		for name := range all {
			archive := filepath.Join(root, ".tools", "images", name+".tar")
			if _, err := os.Stat(archive); err == nil {
				archives = append(archives, archive)
			}
		}
	}
	if len(archives) == 0 {
		return errors.New("no images: run `make images` to build images")
	}
	return cluster.Load(ctx, dir, archives...)
}

func connect(dir string) (*sandbox, error) {
	s := &sandbox{dir: dir, kubeconfig: cluster.Kubeconfig(dir)}
	tools, err := upstream.Tools("")
	if err != nil {
		return nil, err
	}
	s.kubectlPath = tools.Path("kubectl")
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no client-side rate limit, because its errors would replace the server's errors
	if s.client, err = upstream.Client(config); err != nil {
		return nil, err
	}
	s.jobs, err = jobs.Connect(config)
	return s, err
}

func useCluster(t *testing.T) *sandbox {
	t.Helper()
	if sharedCluster == nil {
		t.Skip("needs root, images and minutes: run `make e2e`")
	}
	return sharedCluster
}

// applyPlatform generates the objects of testdata/platform.yaml with trainyard, and applies them with kubectl, as
// users do.
func (s *sandbox) applyPlatform(ctx context.Context) error {
	err := s.client.Create(ctx, restrictedNamespace(tenantName))
	if client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating namespace %s: %w", tenantName, err)
	}
	generated, err := s.generate(ctx, "test/e2e/testdata/platform.yaml")
	if err != nil {
		return fmt.Errorf("generating: %w", err)
	}
	if out, err := s.runKubectl("", "taint", "node", expendableNode, "expendable=yes:NoSchedule", "--overwrite"); err != nil {
		return fmt.Errorf("tainting %s: %w: %s", expendableNode, err, out)
	}
	if out, err := s.runKubectl(generated, "apply", "--server-side", "-f", "-"); err != nil {
		return fmt.Errorf("applying the generated objects: %w: %s", err, out)
	}
	// The API server refuses TrainJobs until kube-controller-manager has counted the objects that the quota
	// limits. kube-controller-manager looks for new CRDs every 30 seconds, and can count TrainJobs only after it
	// has found their CRD.
	if out, err := s.runKubectl("", "-n", tenantName, "wait", "resourcequota", "--all", "--for=jsonpath={.status.used}", "--timeout=2m"); err != nil {
		return fmt.Errorf("waiting until the quota of %s is counted: %w: %s", tenantName, err, out)
	}
	return nil
}

// generate returns the objects that `trainyard generate` prints for a document and layers. If the tests run with an
// older version of Trainer, generate also merges the layer for this version.
func (s *sandbox) generate(ctx context.Context, document string, layers ...string) (string, error) {
	root, err := repo.Root()
	if err != nil {
		return "", err
	}
	args := []string{"generate"}
	for _, file := range append([]string{document}, layers...) {
		args = append(args, "-f", file)
	}
	if older := trainerTools(); older != "" {
		args = append(args, "-f", "test/e2e/testdata/"+older+".yaml")
	}
	cmd := exec.CommandContext(ctx, s.trainyard, args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	generated, err := cmd.Output()
	return string(generated), err
}

// trainerTools returns the name of the folder in tools/ that pins the version of Trainer for all tests, such as
// "trainer-2.1". testdata must contain a layer with the same name. An empty string means the default version of
// Trainer.
func trainerTools() string { return os.Getenv("TRAINYARD_E2E_TRAINER") }

func (s *sandbox) runKubectl(stdin string, args ...string) (string, error) {
	cmd := exec.Command(s.kubectlPath, append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
