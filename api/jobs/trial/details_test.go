package trial_test

import (
	"context"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs/trial"
	"github.com/trainyard/trainyard/test/controlplane"
)

func (s *fakeCluster) warn(kind, name, reason, message string) {
	s.Helper()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: s.options.Namespace, GenerateName: "warning-"},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: s.options.Namespace, Name: name},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.Now(),
	}
	if err := s.cp.Client().Create(s.Context(), event); err != nil {
		s.Error(err)
	}
}

func TestRejectedPods(t *testing.T) {
	for name, tc := range map[string]struct{ kind, suffix, reason, message string }{
		"a webhook, a pod":    {"Job", "-node-0", "FailedCreate", `admission webhook "w" denied the request: no pods here`},
		"a policy, a JobSet":  {"TrainJob", "", "TrainJobResourcesCreationFailed", `jobsets "a" is forbidden: no pods here`},
		"a quota of Jobs":     {"JobSet", "", "JobCreationFailed", `jobs.batch "a" is forbidden: exceeded quota: no pods here`},
		"Pod Security, a pod": {"Job", "-node-0", "FailedCreate", `pods "a" is forbidden: violates PodSecurity: no pods here`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeCluster(t)
			result, err := s.play(func(job string) { s.warn(tc.kind, job+tc.suffix, tc.reason, tc.message) })
			got := checkNamed(t, result, "placed")
			if err != nil || got.Status != trial.Failed || result.TimedOut || !strings.Contains(got.Evidence, "no pods here") {
				t.Errorf("error %v, check %+v", err, got)
			}
		})
	}
}

// TestWaitingReasons: after a timeout, the detail of the failed check must contain the reason why the trial waited.
func TestWaitingReasons(t *testing.T) {
	for name, tc := range map[string]struct {
		act  func(s *fakeCluster, job string)
		want string
	}{
		"a webhook that does not respond": {func(s *fakeCluster, job string) {
			s.warn("Job", job+"-node-0", "FailedCreate", `Internal error occurred: failed calling webhook "w"`)
		}, "failed calling webhook"},
		"an initializer": {func(s *fakeCluster, job string) {
			s.createPod(job, "dataset-initializer", 0, "a", corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "dataset-initializer", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
			}}})
		}, "dataset-initializer must end first: Pending: ImagePullBackOff: no such image"},
		"a suspended TrainJob": {func(s *fakeCluster, job string) {
			s.createNodes(job)
			s.suspend(job)
		}, "the TrainJob was suspended while it ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeCluster(t)
			s.options.Timeout = 4 * time.Second
			result, err := s.play(func(job string) { tc.act(s, job) })
			if got := failedCheck(t, result); err != nil || !result.TimedOut || !strings.Contains(got.Detail, tc.want) {
				t.Errorf("error %v, check %+v, want %q", err, got, tc.want)
			}
		})
	}
}

func TestFailedInitializer(t *testing.T) {
	s := newFakeCluster(t)
	s.log.Store("no such data set\n")
	result, err := s.play(func(job string) {
		s.createPod(job, "dataset-initializer", 0, "a", corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{ended("dataset-initializer", 3, "")}})
		s.endJobSet(job, jobset.JobSetFailed)
	})
	got := checkNamed(t, result, "placed")
	if err != nil || result.TimedOut || !strings.Contains(got.Detail, "dataset-initializer: container dataset-initializer ended with exit code 3") || got.Evidence != "no such data set" {
		t.Errorf("error %v, check %+v", err, got)
	}
}

func TestIncompleteVerdicts(t *testing.T) {
	for name, tc := range map[string]struct{ verdict, check, want string }{
		"without fields":     {`{}`, "dns", "want hosts >= 1 and reached <= hosts"},
		"null":               {`null`, "dns", "want hosts >= 1 and reached <= hosts"},
		"some hosts reached": {`{"hosts":3,"reached":2}`, "dns", "2 of 3 hosts reached"},
		"terminal escapes":   {`{"hosts":3,"reached":2,"failed":[{"host":"a","cause":"refused","detail":"\u001b[2Jok"}]}`, "ssh", "a: refused: ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeCluster(t)
			result, err := s.play(func(job string) {
				s.createNodes(job)
				s.createPod(job, "launcher", 0, "a", succeededStatus(tc.verdict))
			})
			got := checkNamed(t, result, tc.check)
			if err != nil || got.Status != trial.Failed || !strings.Contains(got.Detail, tc.want) {
				t.Errorf("error %v, check %+v, want %q", err, got, tc.want)
			}
		})
	}
}

func TestPreflightTimeoutIsNotRaised(t *testing.T) {
	for timeout, patches := range map[time.Duration]int{time.Minute: 1, time.Hour: 0} {
		s := newFakeCluster(t)
		s.options.Timeout = timeout
		ctx, cancel := context.WithCancel(t.Context())
		s.options.Keep = true
		_, _ = run(ctx, t, s.all, s.options, func(trial.Check) { cancel() })
		for _, name := range jobsIn(t, s.cp, s.options.Namespace) {
			var job trainer.TrainJob
			controlplane.Eventually(t, func(ctx context.Context) error {
				return s.cp.Client().Get(ctx, client.ObjectKey{Namespace: s.options.Namespace, Name: name}, &job)
			})
			if got := len(job.Spec.RuntimePatches); got != patches {
				t.Errorf("within %s: %d patches, want %d", timeout, got, patches)
			}
			if err := s.all.Delete(t.Context(), client.ObjectKeyFromObject(&job)); err != nil {
				t.Error(err)
			}
		}
	}
}

func failedCheck(t *testing.T, result trial.Result) trial.Check {
	t.Helper()
	for _, c := range result.Checks {
		if c.Status == trial.Failed {
			return c
		}
	}
	t.Fatalf("no check failed: %+v", result)
	return trial.Check{}
}
