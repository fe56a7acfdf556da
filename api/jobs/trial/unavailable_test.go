package trial_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
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
