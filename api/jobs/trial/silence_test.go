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

// TestATrialOutlivesSilence of the API server.
func TestATrialOutlivesSilence(t *testing.T) {
	s := set(t)
	var silent atomic.Bool
	s.cut(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if silent.Load() {
			return nil, errors.New("connection refused")
		}
		return next.RoundTrip(r)
	})
	result, err := s.play(func(job string) {
		silent.Store(true)
		s.log.Store(ranks(job, 2))
		s.nodes(job)
		s.pod(job, "launcher", 0, "a", over(wholeVerdict))
		s.end(job, jobset.JobSetCompleted)
		time.Sleep(2 * time.Second)
		silent.Store(false)
	})
	if err != nil || !result.Passed {
		t.Errorf("error %v, result %+v", err, result)
	}
}

// TestSilenceIsTold when it lasts, and what is left then.
func TestSilenceIsTold(t *testing.T) {
	s := set(t)
	s.options.Timeout = 8 * time.Second
	var silent atomic.Bool
	s.cut(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if silent.Load() && r.Method != http.MethodDelete {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return next.RoundTrip(r)
	})
	result, err := s.play(func(string) { silent.Store(true) })
	if err != nil || !result.TimedOut || !strings.Contains(result.Checks[0].Detail, "the API server has not answered for") {
		t.Errorf("error %v, result %+v", err, result)
	}
}

// TestNothingIsLeftOfAJobWhoseMakingWasNotHeardOf, or whose deletion the API server missed at first.
func TestNothingIsLeftOfAJobWhoseMakingWasNotHeardOf(t *testing.T) {
	s := set(t)
	var deaf atomic.Int32
	s.cut(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodDelete && deaf.Add(1) < 3 {
			return nil, io.ErrUnexpectedEOF
		}
		response, err := next.RoundTrip(r)
		if err == nil && r.Method == http.MethodPost && response.StatusCode == http.StatusCreated && strings.Contains(r.URL.Path, "trainjobs") {
			return nil, errors.Join(io.ErrUnexpectedEOF, response.Body.Close())
		}
		return response, err
	})
	if _, err := s.play(func(string) {}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Run() = %v, want that the answer was cut off", err)
	}
	if left := jobsIn(t, s.cp, s.options.Namespace); len(left) > 0 || deaf.Load() != 3 {
		t.Errorf("TrainJobs %v are left after %d attempts", left, deaf.Load())
	}
}
