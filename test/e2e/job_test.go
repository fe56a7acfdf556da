//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
)

// jobPatience bounds a job, which takes about ten seconds on an idle machine.
const jobPatience = 3 * time.Minute

// namespace makes a namespace of Pod Security's level restricted, which goes with the test.
func (s *sandbox) namespace(t *testing.T) string { return s.namespaceLike(t, restricted("")) }

// openNamespace makes one that admits any pod.
func (s *sandbox) openNamespace(t *testing.T) string { return s.namespaceLike(t, &corev1.Namespace{}) }

func (s *sandbox) namespaceLike(t *testing.T, namespace *corev1.Namespace) string {
	t.Helper()
	namespace.GenerateName = "e2e-"
	if err := s.client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	t.Cleanup(func() {
		if out, err := s.try("", "delete", "namespace", namespace.Name, "--wait=false"); err != nil {
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

// verdict is what preflight says of the hosts, but for how long it took.
type verdict struct {
	Hosts, Reached, Slots, Available int
	Failed                           []jobs.HostFailure
}

// finish runs a job and waits for its end, however it ends.
func (s *sandbox) finish(t *testing.T, job *build.TrainJob) outcome {
	t.Helper()
	obj := job.Obj()
	t.Cleanup(func() { // a cluster may stay for the next run
		_, _ = s.try("", "-n", obj.Namespace, "delete", "trainjob", obj.Name, "--wait=false")
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describe(obj.Namespace))
		}
	})
	// Trainer's webhook reads runtimes from a cache.
	eventually(t, 10*time.Second, func() error { return s.client.Create(t.Context(), obj.DeepCopy()) })
	var got outcome
	ctx, cancel := context.WithTimeoutCause(t.Context(), jobPatience, errors.New("the job goes on"))
	defer cancel()
	var view jobs.View
	err := s.jobs.Wait(ctx, client.ObjectKeyFromObject(obj), func(live jobs.View) (bool, error) {
		view, got.condition = live, live.Outcome().Condition
		return got.condition != "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got.ranks, got.verdict = s.ranks(t, view), verdictOf(t, view)
	return got
}

// ranks are the lines that ranks printed, sorted, because they come in any order. mpirun may
// have something to say too.
func (s *sandbox) ranks(t *testing.T, view jobs.View) []string {
	t.Helper()
	launcher := view.Of(jobs.Launcher)
	if len(launcher) != 1 {
		return nil // a failed job takes its pods along
	}
	log, err := s.jobs.Log(t.Context(), launcher[0], jobs.Main, 1000)
	if err != nil {
		t.Logf("the launcher has no log: %v", err)
		return nil
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "rank ") })
	slices.Sort(lines)
	return lines
}

func verdictOf(t *testing.T, view jobs.View) verdict {
	t.Helper()
	found, err := view.Verdict()
	if err != nil {
		t.Error(err)
	}
	if found == nil {
		return verdict{}
	}
	return verdict{found.Hosts, found.Reached, found.Slots, found.Available, found.Failed}
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
