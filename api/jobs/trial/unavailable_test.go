package trial_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/trial"
)

func TestShortOutage(t *testing.T) {
	s := newFakeCluster(t)
	var unavailable atomic.Bool
	s.connect(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if unavailable.Load() {
			return nil, errors.New("connection refused")
		}
		return next.RoundTrip(r)
	})
	result, err := s.play(func(job string) {
		unavailable.Store(true)
		s.log.Store(rankOutput(job, 2))
		s.createNodes(job)
		s.createPod(job, "launcher", 0, "a", succeededStatus(goodVerdict))
		s.endJobSet(job, jobset.JobSetCompleted)
		time.Sleep(2 * time.Second)
		unavailable.Store(false)
	})
	if err != nil || !result.Passed {
		t.Errorf("error %v, result %+v", err, result)
	}
}

// TestLongOutage: if the API server is unavailable when the trial times out, the detail of the failed
// check must mention the outage.
func TestLongOutage(t *testing.T) {
	s := newFakeCluster(t)
	s.options.Timeout = 8 * time.Second
	var unavailable atomic.Bool
	s.connect(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if unavailable.Load() && r.Method != http.MethodDelete {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return next.RoundTrip(r)
	})
	result, err := s.play(func(string) { unavailable.Store(true) })
	if err != nil || !result.TimedOut || !strings.Contains(result.Checks[0].Detail, "the API server has not responded for") {
		t.Errorf("error %v, result %+v", err, result)
	}
}

// TestTimeoutBeforeCreation: if the trial times out before the TrainJob exists, the error must be a DeadlineExceeded
// error, so that the command "trainyard runtime test" ends with the exit code for timeouts.
func TestTimeoutBeforeCreation(t *testing.T) {
	for name, path := range map[string]string{"permissions": "selfsubjectaccessreviews", "creation": "trainjobs"} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, path) && r.Method == http.MethodPost {
					_, _ = io.Copy(io.Discard, r.Body) // the server notices the end of the request only after it has read the body
					<-r.Context().Done()
				}
				w.WriteHeader(http.StatusForbidden)
			}))
			defer server.Close()
			all, err := jobs.Connect(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			options := trial.Options{Runtime: supportedRuntime(), Namespace: "team", Nodes: 1, Timeout: 100 * time.Millisecond, Keep: true}
			result, err := trial.Run(t.Context(), all, options, func(trial.Check) {})
			if !errors.Is(err, context.DeadlineExceeded) || !result.TimedOut {
				t.Errorf("Run() = %v, timed out: %t", err, result.TimedOut)
			}
		})
	}
}

// supportedRuntime returns a runtime that has only the fields that Run requires.
func supportedRuntime() jobs.Runtime {
	runtime := jobs.Runtime{Kind: trainer.ClusterTrainingRuntimeKind, Name: runtimeName}
	runtime.Spec.MLPolicy = &trainer.MLPolicy{MLPolicySource: trainer.MLPolicySource{MPI: &trainer.MPIMLPolicySource{}}}
	for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
		replicated := jobset.ReplicatedJob{Name: string(role)}
		replicated.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: jobs.MainContainer}}
		runtime.Spec.Template.Spec.ReplicatedJobs = append(runtime.Spec.Template.Spec.ReplicatedJobs, replicated)
	}
	return runtime
}

// TestCleanUpAfterLostResponse: if the API server creates a TrainJob but the trial does not receive the
// response, the trial must delete the TrainJob. If the deletion fails, the trial must try again.
func TestCleanUpAfterLostResponse(t *testing.T) {
	s := newFakeCluster(t)
	var deletions atomic.Int32
	s.connect(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodDelete && deletions.Add(1) < 3 {
			return nil, io.ErrUnexpectedEOF
		}
		response, err := next.RoundTrip(r)
		if err == nil && r.Method == http.MethodPost && response.StatusCode == http.StatusCreated && strings.Contains(r.URL.Path, "trainjobs") {
			return nil, errors.Join(io.ErrUnexpectedEOF, response.Body.Close())
		}
		return response, err
	})
	if _, err := s.play(func(string) {}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Run() = %v, want that the response was lost", err)
	}
	if left := jobsIn(t, s.cp, s.options.Namespace); len(left) > 0 || deletions.Load() != 3 {
		t.Errorf("TrainJobs %v are left after %d attempts", left, deletions.Load())
	}
}
