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
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/poll"
)

// jobTimeout is the maximum duration of a job, except in tests with a timeout of their own. On an idle machine, a job
// takes about ten seconds.
const jobTimeout = 3 * time.Minute

func (s *sandbox) makeNamespace(t testing.TB) string {
	return s.createNamespace(t, restrictedNamespace(""))
}

func (s *sandbox) openNamespace(t testing.TB) string {
	return s.createNamespace(t, &corev1.Namespace{})
}

func (s *sandbox) createNamespace(t testing.TB, namespace *corev1.Namespace) string {
	t.Helper()
	namespace.GenerateName = "e2e-"
	if err := s.client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		if out, err := s.runKubectl("", "delete", "namespace", namespace.Name, "--wait=false"); err != nil {
			t.Errorf("cleaning up: %v: %s", err, out)
		}
	})
	return namespace.Name
}

func restrictedNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}},
	}
}

type outcome struct {
	condition string // Complete or Failed
	ranks     []string
	verdict   verdict // of preflight
}

// verdict contains the fields of a preflight verdict except for the times, because the times vary.
type verdict struct {
	Hosts, Reached, Slots, Available int
	Failed                           []jobs.HostFailure
}

func (s *sandbox) run(t testing.TB, job *build.TrainJob) outcome {
	t.Helper()
	return s.runWithin(t, jobTimeout, job)
}

// runWithin runs a job and returns its outcome, as the method "run" does. The given timeout replaces jobTimeout.
func (s *sandbox) runWithin(t testing.TB, timeout time.Duration, job *build.TrainJob) outcome {
	t.Helper()
	obj := job.Obj()
	t.Cleanup(func() { // a later test run may use the same cluster
		_, _ = s.runKubectl("", "-n", obj.Namespace, "delete", "trainjob", obj.Name, "--wait=false")
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describeNamespace(obj.Namespace))
		}
	})
	// The first attempts to create a TrainJob can fail, because the cache of Trainer's webhook may not
	// contain a new runtime yet.
	poll.Until(t, 10*time.Second, func(ctx context.Context) error { return s.client.Create(ctx, obj.DeepCopy()) })
	var got outcome
	ctx, cancel := context.WithTimeoutCause(t.Context(), timeout, errors.New("the job still runs"))
	defer cancel()
	var snapshot jobs.Snapshot
	err := s.jobs.Wait(ctx, client.ObjectKeyFromObject(obj), func(live jobs.Snapshot) (bool, error) {
		snapshot, got.condition = live, live.Outcome().Condition
		return got.condition != "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got.ranks, got.verdict = s.rankLines(t, snapshot), verdictOf(t, snapshot)
	return got
}

// rankLines returns the lines that ranks printed, without the lines that mpirun printed. The lines are sorted, because
// ranks print them in varying order.
func (s *sandbox) rankLines(t testing.TB, snapshot jobs.Snapshot) []string {
	t.Helper()
	launcher := snapshot.PodsOf(jobs.Launcher)
	if len(launcher) != 1 {
		return nil // the launcher of a failed job is already deleted
	}
	log, err := s.jobs.Log(t.Context(), launcher[0], jobs.MainContainer, 1000)
	if err != nil {
		t.Logf("the launcher has no log: %v", err)
		return nil
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "rank ") })
	slices.Sort(lines)
	return lines
}

func verdictOf(t testing.TB, snapshot jobs.Snapshot) verdict {
	t.Helper()
	found, err := snapshot.Verdict()
	if err != nil {
		t.Error(err)
	}
	if found == nil {
		return verdict{}
	}
	return verdict{found.Hosts, found.Reached, found.Slots, found.Available, found.Failed}
}

func (s *sandbox) describeNamespace(namespace string) string {
	var text strings.Builder
	for _, args := range [][]string{
		{"get", "trainjobs,jobsets,jobs,pods", "-o", "wide"},
		{"get", "events"},
		{"logs", "--prefix", "--all-containers", "--tail=40", "-l", v1alpha1.RoleLabel},
	} {
		out, err := s.runKubectl("", append([]string{"-n", namespace}, args...)...)
		fmt.Fprintf(&text, "kubectl %s (%v):\n%s\n", strings.Join(args, " "), err, out)
	}
	return text.String()
}
