//go:build linux

package scale

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

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// waitTimeout is the maximum time of each wait in these tests. On an idle machine, a wait takes only seconds.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // no logs are needed, because failures are returned as errors
	os.Exit(m.Run())
}

// sandbox is a cluster with simulated cluster nodes, in which the test has applied the objects of a generated platform.
type sandbox struct {
	dir    string
	client client.Client
}

func startSandbox(t *testing.T, o cluster.Options, documents ...string) *sandbox {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "scale-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background(), dir, t.Output()); err != nil {
			t.Error(err)
		}
	})
	o.Dir, o.Level, o.Progress = dir, cluster.Scale, t.Output()
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
	s.runKubectl(t, generateOutput(t, documents), "apply", "--server-side", "-f", "-")
	s.awaitQuotas(t)
	return s
}

// awaitQuotas waits until Kubernetes has computed the usage of every ResourceQuota. Until then, Kubernetes refuses
// TrainJobs. In a new cluster, Kubernetes needs some seconds to discover kinds such as TrainJob. If a quota was created
// before this discovery, five minutes pass before Kubernetes computes the usage of the quota. To avoid these five
// minutes, awaitQuotas deletes and recreates each quota whose usage is still unknown.
func (s *sandbox) awaitQuotas(t *testing.T) {
	t.Helper()
	poll.Until(t, waitTimeout, func(ctx context.Context) error {
		var all corev1.ResourceQuotaList
		if err := s.client.List(ctx, &all); err != nil {
			return err
		}
		for _, quota := range all.Items {
			if len(quota.Status.Used) == len(quota.Spec.Hard) {
				continue
			}
			time.Sleep(time.Second)
			err := s.client.Delete(ctx, &quota)
			quota.ObjectMeta = metav1.ObjectMeta{Name: quota.Name, Namespace: quota.Namespace, Labels: quota.Labels}
			return errors.Join(fmt.Errorf("the quota of %s is not counted yet", quota.Namespace), err, s.client.Create(ctx, &quota))
		}
		return nil
	})
}

func generateOutput(t *testing.T, documents []string) string {
	t.Helper()
	return runTrainyard(t, []string{"generate"}, documents)
}

func runTrainyard(t *testing.T, command, documents []string) string {
	t.Helper()
	args := append([]string{"run", "./cmd/trainyard"}, command...)
	for _, document := range documents {
		args = append(args, "-f", filepath.Join("test/scale/testdata", document))
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Stderr = repo.Path(t), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("trainyard %s: %v", command[0], err)
	}
	return string(out)
}

func (s *sandbox) runKubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	tools, err := upstream.Tools("")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tools.Path("kubectl"), append([]string{"--kubeconfig", cluster.Kubeconfig(s.dir)}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// submit creates a TrainJob. If the creation fails, submit tries again, because the cache of Trainer's webhook may not
// contain a new runtime yet.
func (s *sandbox) submit(t *testing.T, job *trainer.TrainJob) {
	t.Helper()
	poll.Until(t, waitTimeout, func(ctx context.Context) error { return s.client.Create(ctx, job.DeepCopy()) })
}

func (s *sandbox) countRunning(ctx context.Context, job *trainer.TrainJob) (int, error) {
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
		return 0, err
	}
	var pods corev1.PodList
	err := s.client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{"jobset.sigs.k8s.io/jobset-name": job.Name})
	count := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" {
			count++
		}
	}
	return count, err
}
