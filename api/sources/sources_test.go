package sources_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/sources"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

func TestList(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.change(func(s *v1alpha1.TrainJobSourceStatus) {
		s.Conditions = []metav1.Condition{condition(v1alpha1.ReadyCondition, metav1.ConditionTrue, v1alpha1.ReasonApplied, "")}
		s.Summary = v1alpha1.JobSummary{Jobs: 2, Active: 1}
	})
	list, err := w.connect("").List(t.Context(), w.namespace)
	if err != nil || len(list) != 2 {
		t.Fatalf("List() = %v, %v", list, err)
	}
	if a := list[0]; a.Name != "a" || a.Ready != metav1.ConditionUnknown || a.IsReady() {
		t.Errorf("the first TrainJobSource is %+v, want the unknown state of a", a)
	}
	if jobs := list[1]; jobs.Name != "jobs" || !jobs.IsReady() || jobs.Reason != v1alpha1.ReasonApplied || jobs.Summary.Active != 1 {
		t.Errorf("the second TrainJobSource is %+v, want that jobs is ready", jobs)
	}
	other := newWorld(t)
	all, err := w.connect("").List(t.Context(), "")
	namespaces := map[string]bool{}
	for _, o := range all {
		namespaces[o.Namespace] = true
	}
	if err != nil || !namespaces[w.namespace] || !namespaces[other.namespace] {
		t.Errorf("List() of all namespaces = %v, %v", all, err)
	}
}

func TestListHasManyPages(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.create("b")
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return smallPages{next} })
	if list, err := w.connect("").List(t.Context(), w.namespace); err != nil || len(list) != 3 {
		t.Errorf("List() = %v, %v, want 3 TrainJobSources", list, err)
	}
}

type smallPages struct{ http.RoundTripper }

func (t smallPages) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Set("limit", "1")
	r.URL.RawQuery = query.Encode()
	return t.RoundTripper.RoundTrip(r)
}

// TestViewIsCurrent checks that a TrainJobSource does not count as ready while its status describes an old spec.
func TestViewIsCurrent(t *testing.T) {
	w := newWorld(t)
	w.change(func(s *v1alpha1.TrainJobSourceStatus) {
		s.Conditions = []metav1.Condition{condition(v1alpha1.ReadyCondition, metav1.ConditionTrue, v1alpha1.ReasonApplied, "")}
	})
	source := w.read()
	source.Spec.Path = "other"
	if err := w.client.Update(t.Context(), &source); err != nil {
		t.Fatal(err)
	}
	if view, err := w.connect("").Get(t.Context(), w.key()); err != nil || view.Current || view.IsReady() || view.Ready != metav1.ConditionTrue {
		t.Errorf("Get() = %+v, %v, want Current to be false", view, err)
	}
}

func TestViewIsPrintable(t *testing.T) {
	const hostile, safe = "a\x1b[2J\u202eb\nc", "a�b c"
	w := newWorld(t)
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	w.change(func(s *v1alpha1.TrainJobSourceStatus) {
		s.Conditions = []metav1.Condition{condition(v1alpha1.ReadyCondition, metav1.ConditionFalse, v1alpha1.ReasonJobsInvalid, hostile)}
		s.Fetched = &v1alpha1.Revision{Commit: hostile, Ref: hostile, Time: now}
		s.Applied = s.Fetched
		s.Jobs = []v1alpha1.JobStatus{{Name: hostile, State: hostile, Message: hostile, Run: hostile, Phase: hostile}}
		s.Problems = []v1alpha1.JobProblem{{File: hostile, Line: 3, Message: hostile}}
	})
	view, err := w.connect("").Get(t.Context(), w.key())
	if err != nil {
		t.Fatal(err)
	}
	revision := &v1alpha1.Revision{Commit: safe, Ref: safe, Time: now}
	want := sources.View{
		Overview: sources.Overview{
			Namespace: w.namespace, Name: "jobs", Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonJobsInvalid, Current: true,
			Applied: revision, Created: view.Created,
		},
		Message: safe, URL: "https://git.example.com/team/jobs.git", Path: ".", Interval: metav1.Duration{Duration: 5 * time.Minute},
		Fetched:  revision,
		Jobs:     []v1alpha1.JobStatus{{Name: safe, State: safe, Message: safe, Run: safe, Phase: safe}},
		Problems: []v1alpha1.JobProblem{{File: safe, Line: 3, Message: safe}},
	}
	if diff := cmp.Diff(want, view); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnknownSource(t *testing.T) {
	w := newWorld(t)
	missing := types.NamespacedName{Namespace: w.namespace, Name: "jbs"}
	all, now := w.connect(""), time.Now()
	for name, call := range map[string]func() error{
		"Get":         func() error { _, err := all.Get(t.Context(), missing); return err },
		"Suspend":     func() error { _, err := all.Suspend(t.Context(), missing, true); return err },
		"Retry":       func() error { _, err := all.Retry(t.Context(), missing, "a", now); return err },
		"RequestSync": func() error { _, err := all.RequestSync(t.Context(), missing, now); return err },
	} {
		want := fmt.Sprintf("there is no TrainJobSource \"jbs\" in namespace %s: did you mean \"jobs\"?", w.namespace)
		if err := call(); err == nil || err.Error() != want {
			t.Errorf("%s() = %v, want %s", name, err, want)
		}
	}
	w.allow("get")
	_, err := w.connect(w.namespace).Get(t.Context(), missing)
	if want := fmt.Sprintf("there is no TrainJobSource \"jbs\" in namespace %s", w.namespace); err == nil || err.Error() != want {
		t.Errorf("Get() without the permission to list = %v, want %s", err, want)
	}
}

func TestForbiddenSource(t *testing.T) {
	w := newWorld(t)
	w.allow("get")
	all := w.connect(w.namespace)
	if _, err := all.Suspend(t.Context(), w.key(), true); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `cannot patch resource "trainjobsources"`) {
		t.Errorf("Suspend() = %v, want a Forbidden error that names the permission", err)
	}
	if _, err := all.List(t.Context(), w.namespace); !apierrors.IsForbidden(err) {
		t.Errorf("List() = %v, want a Forbidden error", err)
	}
}

// otherGroup simulates a cluster without the CRD of TrainJobSource: each request goes to an API group
// that the API server does not serve.
type otherGroup struct{ http.RoundTripper }

func (t otherGroup) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = strings.Replace(r.URL.Path, v1alpha1.Group, "absent.example.org", 1)
	return t.RoundTripper.RoundTrip(r)
}

func TestClusterWithoutSources(t *testing.T) {
	w := newWorld(t)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return otherGroup{next} })
	bare := w.connect("")
	_, listErr := bare.List(t.Context(), w.namespace)
	_, getErr := bare.Get(t.Context(), w.key())
	if !errors.Is(listErr, sources.ErrNotInstalled) || !errors.Is(getErr, sources.ErrNotInstalled) {
		t.Errorf("List() = %v, Get() = %v, want %v", listErr, getErr, sources.ErrNotInstalled)
	}
}

func TestSuspend(t *testing.T) {
	w := newWorld(t)
	all := w.connect("")
	for _, step := range []struct{ suspend, changes bool }{{false, false}, {true, true}, {true, false}, {false, true}} {
		changed, err := all.Suspend(t.Context(), w.key(), step.suspend)
		if got := w.read().Spec.Suspend; err != nil || changed != step.changes || got != step.suspend {
			t.Errorf("Suspend(%v) = %v, %v, and spec.suspend is %v", step.suspend, changed, err, got)
		}
	}
	var owners []string
	for _, f := range w.read().ManagedFields {
		if strings.Contains(f.FieldsV1.GetRawString(), "f:suspend") {
			owners = append(owners, f.Manager)
		}
	}
	if len(owners) > 0 {
		t.Errorf("after Suspend(false), %v still own spec.suspend", owners)
	}
}

func TestRetry(t *testing.T) {
	w := newWorld(t)
	all, now := w.connect(""), time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	w.change(func(s *v1alpha1.TrainJobSourceStatus) {
		s.Summary.Jobs = 2
		s.Jobs = []v1alpha1.JobStatus{{Name: "bert", State: "Ended"}, {Name: "sum", State: "Running"}}
	})
	prefix := fmt.Sprintf("TrainJobSource %s/jobs has no job ", w.namespace)
	for job, want := range map[string]string{
		"bert": "", "brt": prefix + `"brt": did you mean "bert"?`, "resnet": prefix + `"resnet": it has bert, sum`,
	} {
		_, err := all.Retry(t.Context(), w.key(), job, now)
		if got := fmt.Sprint(err); err != nil && got != want || (err == nil) != (want == "") {
			t.Errorf("Retry(%s) = %v, want %s", job, err, want)
		}
	}
	want := map[string]string{"retry.trainyard.dev/bert": "2026-01-02T02:04:05.000000006Z"}
	if diff := cmp.Diff(want, w.read().Annotations); diff != "" {
		t.Errorf("annotations: -want +got:\n%s", diff)
	}
	w.change(func(s *v1alpha1.TrainJobSourceStatus) { s.Summary.Jobs = 101 })
	if _, err := all.Retry(t.Context(), w.key(), "resnet", now); err != nil || w.read().Annotations["retry.trainyard.dev/resnet"] == "" {
		t.Errorf("Retry() of a job that the status may not list = %v", err)
	}
	var invalid *sources.InvalidJobError
	if _, err := all.Retry(t.Context(), w.key(), "res/net", now); !errors.As(err, &invalid) {
		t.Errorf("Retry() of a name that no job can have = %v, want an InvalidJobError", err)
	}
}
