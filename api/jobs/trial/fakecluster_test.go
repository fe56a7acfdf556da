package trial_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/trial"
	"github.com/trainyard/trainyard/test/controlplane"
)

// fakeCluster is a control plane without cluster nodes. A test with a fakeCluster creates the pods, sets their
// status, and serves their logs.
type fakeCluster struct {
	*testing.T
	cp      *controlplane.ControlPlane
	all     jobs.Jobs
	options trial.Options
	log     atomic.Value // a string with the log of every container; if no string is stored, reading a log fails
}

// newFakeCluster returns a fakeCluster. Its trials have a timeout of 20 s, which is long enough for a trial to pass.
func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	cp, _, options := start(t)
	options.Timeout = 20 * time.Second
	s := &fakeCluster{T: t, cp: cp, options: options}
	s.connect(func(next http.RoundTripper, r *http.Request) (*http.Response, error) { return next.RoundTrip(r) })
	return s
}

// transport is a function that sends a request to the API server through the argument "next", and returns the
// response. To simulate a lost response, the function returns an error instead.
type transport func(next http.RoundTripper, r *http.Request) (*http.Response, error)

func (s *fakeCluster) connect(send transport) {
	s.Helper()
	config := s.cp.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/log") {
				return s.serveLog(r), nil
			}
			return send(next, r)
		})
	})
	all, err := jobs.Connect(config)
	if err != nil {
		s.Fatal(err)
	}
	s.all = all
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (s *fakeCluster) serveLog(r *http.Request) *http.Response {
	response := httptest.NewRecorder()
	log, ok := s.log.Load().(string)
	if !ok {
		http.Error(response, "no kubelet", http.StatusInternalServerError)
		return response.Result()
	}
	lines := strings.SplitAfter(log, "\n")
	wanted, _ := strconv.Atoi(r.URL.Query().Get("tailLines"))
	_, _ = fmt.Fprint(response, strings.Join(lines[max(0, len(lines)-1-wanted):], ""))
	return response.Result()
}

// play runs a trial, and returns its result. The trial makes its first report only after it has created the TrainJob.
// Therefore play waits for this report, and then calls the function "act" with the name of the TrainJob.
func (s *fakeCluster) play(act func(job string)) (trial.Result, error) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	began := make(chan struct{}, 1)
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		<-began
		if job := jobsIn(s.T, s.cp, s.options.Namespace); len(job) == 1 {
			act(job[0])
		}
	}()
	result, err := run(ctx, s.T, s.all, s.options, func(trial.Check) {
		select {
		case began <- struct{}{}:
		default:
		}
	})
	close(began)
	<-acted
	return result, err
}

func (s *fakeCluster) createPod(job, role string, index int, suffix string, status corev1.PodStatus) {
	s.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.options.Namespace, Name: fmt.Sprintf("%s-%s-0-%d-%s", job, role, index, suffix),
			Labels:      map[string]string{"jobset.sigs.k8s.io/jobset-name": job, "jobset.sigs.k8s.io/replicatedjob-name": role},
			Annotations: map[string]string{"batch.kubernetes.io/job-completion-index": fmt.Sprint(index)},
		},
		Spec: corev1.PodSpec{NodeName: "here", Containers: []corev1.Container{{Name: jobs.MainContainer, Image: "localhost/none"}}},
	}
	c := s.cp.Client()
	if err := c.Create(s.Context(), pod); err != nil {
		s.Error(err)
		return
	}
	pod.Status = status
	if err := c.Status().Update(s.Context(), pod); err != nil {
		s.Error(err)
	}
}

func (s *fakeCluster) createNodes(job string) {
	s.Helper()
	for i := range int(s.options.Nodes) {
		s.createPod(job, "node", i, "a", ready())
	}
}

// endJobSet sets a final condition in the status of the JobSet. Trainer copies this condition to the TrainJob.
func (s *fakeCluster) endJobSet(job string, as jobset.JobSetConditionType) {
	s.Helper()
	set := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.options.Namespace, Name: job}}
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":"True","reason":"Played","message":"as played","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, as)
	controlplane.Eventually(s, func(ctx context.Context) error {
		return s.cp.Client().Status().Patch(ctx, set, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}

func (s *fakeCluster) suspend(name string) {
	s.Helper()
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.options.Namespace, Name: name}}
	if err := s.cp.Client().Patch(s.Context(), job, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))); err != nil {
		s.Error(err)
	}
}

func ready() corev1.PodStatus {
	return corev1.PodStatus{
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: jobs.MainContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
	}
}

func succeededStatus(verdict string) corev1.PodStatus {
	return corev1.PodStatus{
		ContainerStatuses:     []corev1.ContainerStatus{ended(jobs.MainContainer, 0, "")},
		InitContainerStatuses: []corev1.ContainerStatus{ended("preflight", 0, verdict)},
	}
}

func ended(name string, code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}}
}

func checkNamed(t *testing.T, result trial.Result, name string) trial.Check {
	t.Helper()
	for _, c := range result.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %s in %+v", name, result)
	return trial.Check{}
}

// nextSecond waits for more than a second, because Kubernetes stores creation times in whole seconds. Objects
// created after nextSecond have a later creation time than objects created before.
func nextSecond() { time.Sleep(1100 * time.Millisecond) }
