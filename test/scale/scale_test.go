//go:build linux

package scale

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

const (
	// nodes is how many the cluster has, and how many a job takes.
	nodes = 100
	// patience bounds each wait; what is waited for takes seconds on an idle machine.
	patience = 2 * time.Minute
)

// TestAJobOfManyNodesRunsAndEnds: each of its pods finds a place and runs, and the job is
// Complete when its launcher is.
func TestAJobOfManyNodesRunsAndEnds(t *testing.T) {
	s := start(t)
	for name, tc := range map[string]struct {
		duration string
		reached  func(*trainer.TrainJob, int) bool
	}{
		"while the launcher runs, all pods do": {"1h", func(_ *trainer.TrainJob, running int) bool {
			return running == nodes
		}},
		"once the launcher has ended, the job is complete and no pod runs": {"1s", func(job *trainer.TrainJob, running int) bool {
			return meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) && running == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			job := build.MakeTrainJob("big-"+tc.duration, "default").Runtime("openmpi").Nodes(nodes).
				Command("mpirun", "hostname").Env(upstream.SimulatedDuration, tc.duration).Obj()
			t.Cleanup(func() { s.kubectl(t, "", "delete", "trainjob", job.Name) })
			began := time.Now()
			eventually(t, func() error { return s.client.Create(t.Context(), job.DeepCopy()) })
			eventually(t, func() error {
				if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
					return err
				}
				running, err := s.running(t.Context(), job.Name)
				if err == nil && !tc.reached(job, running) {
					err = fmt.Errorf("%d pods run, and the job says %v", running, job.Status.Conditions)
				}
				return err
			})
			t.Logf("after %s", time.Since(began).Round(100*time.Millisecond))
		})
	}
}

// sandbox is a cluster of simulated nodes with what trainyard generated on it.
type sandbox struct {
	dir    string
	client client.Client
}

// start brings up a cluster that goes with the test.
func start(t *testing.T) *sandbox {
	t.Helper()
	if os.Getenv("TRAINYARD_SCALE") == "" {
		t.Skip("needs a cluster of simulated nodes: run `make scale`")
	}
	dir, err := os.MkdirTemp("/var/tmp", "scale-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background(), dir, t.Output()); err != nil {
			t.Error(err)
		}
	})
	o := cluster.Options{Dir: dir, Level: cluster.Scale, Nodes: nodes, Progress: t.Output()}
	if err := cluster.Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{dir: dir}
	if s.client, err = upstream.Client(config); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, generated(t), "apply", "--server-side", "-f", "-")
	return s
}

// generated are the objects of the platform.
func generated(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/trainyard", "generate", "-f", "test/scale/testdata/platform.yaml")
	cmd.Dir, cmd.Stderr = repo.Path(t), t.Output()
	objects, err := cmd.Output()
	if err != nil {
		t.Fatalf("generating: %v", err)
	}
	return string(objects)
}

func (s *sandbox) kubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	tools, err := upstream.Tools("")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tools.Path("kubectl"), append([]string{"--kubeconfig", cluster.Kubeconfig(s.dir)}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// running counts the pods of a job that run.
func (s *sandbox) running(ctx context.Context, job string) (int, error) {
	var pods corev1.PodList
	err := s.client.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"jobset.sigs.k8s.io/jobset-name": job})
	count := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" {
			count++
		}
	}
	return count, err
}

// eventually polls until check holds.
func eventually(t *testing.T, check func() error) {
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
