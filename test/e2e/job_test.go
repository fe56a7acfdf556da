//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/build"
)

// jobPatience bounds a job, which takes about ten seconds on an idle machine.
const jobPatience = 3 * time.Minute

// namespace makes a namespace that goes with the test.
func (s *sandbox) namespace(t *testing.T) string {
	t.Helper()
	namespace := restricted("")
	namespace.GenerateName = "e2e-"
	if err := s.client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	t.Cleanup(func() {
		if out, err := s.try("", "delete", "namespace", namespace.Name); err != nil {
			t.Errorf("cleaning up: %v: %s", err, out)
		}
	})
	return namespace.Name
}

// restricted is a namespace in which only pods of Pod Security's level restricted may run.
func restricted(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}},
	}
}

// outcome is what became of a job.
type outcome struct {
	condition string // Complete or Failed
	ranks     []string
	verdict   verdict
}

// verdict is what preflight says of the hosts.
type verdict struct {
	Hosts, Reached, Slots, Available int
}

// finish runs a job and waits for its end, however it ends.
func (s *sandbox) finish(t *testing.T, job *build.TrainJob) outcome {
	t.Helper()
	obj := job.Obj()
	t.Cleanup(func() { // a cluster may stay for the next run
		_, _ = s.try("", "-n", obj.Namespace, "delete", "trainjob", obj.Name)
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describe(obj.Namespace))
		}
	})
	// Trainer's webhook reads runtimes from a cache.
	eventually(t, 10*time.Second, func() error { return s.client.Create(t.Context(), obj.DeepCopy()) })
	var got outcome
	eventually(t, jobPatience, func() error {
		var live trainer.TrainJob
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(obj), &live); err != nil {
			return err
		}
		for _, condition := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
			if meta.IsStatusConditionTrue(live.Status.Conditions, condition) {
				got.condition = condition
				return nil
			}
		}
		return errors.New("the job goes on")
	})
	launcher := s.launcher(t, obj.Namespace, obj.Name)
	got.ranks, got.verdict = s.ranks(t, launcher), verdictOf(t, launcher)
	return got
}

// launcher is the pod that ran mpirun.
func (s *sandbox) launcher(t *testing.T, namespace, job string) corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	err := s.client.List(t.Context(), &pods, client.InNamespace(namespace),
		client.MatchingLabels{"jobset.sigs.k8s.io/jobset-name": job, "trainyard.dev/role": "launcher"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("looking for the launcher of %s: %d pods, %v", job, len(pods.Items), err)
	}
	return pods.Items[0]
}

// ranks are the lines that ranks printed, sorted, because they come in any order. mpirun may
// have something to say too.
func (s *sandbox) ranks(t *testing.T, launcher corev1.Pod) []string {
	t.Helper()
	log, err := s.pods.CoreV1().Pods(launcher.Namespace).GetLogs(launcher.Name, &corev1.PodLogOptions{Container: "node"}).DoRaw(t.Context())
	if err != nil {
		t.Logf("the launcher has no log: %v", err)
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "rank ") })
	slices.Sort(lines)
	return lines
}

func verdictOf(t *testing.T, launcher corev1.Pod) verdict {
	t.Helper()
	var found verdict
	for _, c := range launcher.Status.InitContainerStatuses {
		if c.Name != "preflight" || c.State.Terminated == nil {
			continue
		}
		if err := json.Unmarshal([]byte(c.State.Terminated.Message), &found); err != nil {
			t.Errorf("reading the verdict %q: %v", c.State.Terminated.Message, err)
		}
	}
	return found
}

// describe is all there is to know about the pods of a namespace.
func (s *sandbox) describe(namespace string) string {
	var text strings.Builder
	for _, args := range [][]string{
		{"get", "trainjobs,jobsets,jobs,pods", "-o", "wide"},
		{"get", "events"},
		{"logs", "--prefix", "--all-containers", "--tail=40", "-l", "trainyard.dev/role"},
	} {
		out, err := s.try("", append([]string{"-n", namespace}, args...)...)
		fmt.Fprintf(&text, "kubectl %s (%v):\n%s\n", strings.Join(args, " "), err, out)
	}
	return text.String()
}
