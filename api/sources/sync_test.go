package sources_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/sources"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// waitForSync requests a fetch, calls the function "handle", and waits until the fetch is done. The function "handle"
// simulates the controller or another user, and changes the TrainJobSource.
func waitForSync(t *testing.T, w *world, handle func()) (sources.View, error) {
	t.Helper()
	all := w.connect("")
	request, err := all.RequestSync(t.Context(), w.key(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if view, err := all.Get(t.Context(), w.key()); err != nil || !view.SyncPending {
		t.Errorf("Get() = %+v, %v, want that a fetch was requested", view, err)
	}
	handle()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return all.WaitForSync(ctx, request)
}

func (w *world) annotation() string { return w.read().Annotations[v1alpha1.SyncAnnotation] }

func TestSync(t *testing.T) {
	w := newWorld(t)
	if view, err := waitForSync(t, w, func() {
		w.change(func(s *v1alpha1.TrainJobSourceStatus) { s.LastSync = w.annotation() })
	}); err != nil || view.SyncPending {
		t.Errorf("WaitForSync() = %+v, %v", view, err)
	}
	before := w.annotation()
	if _, err := waitForSync(t, w, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitForSync() without a controller = %v, want %v", err, context.DeadlineExceeded)
	}
	for name, tc := range map[string]struct {
		annotation, last string
		done             bool
	}{
		"somebody replaced the annotation":               {"later", "later", true},
		"the later fetch has not ended":                  {"later", before, false},
		"somebody put the earlier annotation back":       {before, before, false},
		"somebody removed the annotation and the status": {"", "", false},
	} {
		_, err := waitForSync(t, w, func() {
			source := w.read()
			source.Annotations[v1alpha1.SyncAnnotation] = tc.annotation
			if err := w.client.Update(t.Context(), &source); err != nil {
				t.Fatal(err)
			}
			w.change(func(s *v1alpha1.TrainJobSourceStatus) { s.LastSync = tc.last })
		})
		if done := err == nil; done != tc.done {
			t.Errorf("%s: WaitForSync() = %v", name, err)
		}
		w.change(func(s *v1alpha1.TrainJobSourceStatus) { s.LastSync = before })
	}
}

func TestSyncWaitsForApply(t *testing.T) {
	w := newWorld(t)
	reconciling := func(reason string) func() {
		return func() {
			w.change(func(s *v1alpha1.TrainJobSourceStatus) {
				s.LastSync = w.annotation()
				s.Conditions = []metav1.Condition{condition(v1alpha1.ReconcilingCondition, metav1.ConditionTrue, reason, "")}
			})
		}
	}
	if _, err := waitForSync(t, w, reconciling(v1alpha1.ReasonProgressing)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitForSync() while a commit is applied = %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := waitForSync(t, w, reconciling(v1alpha1.ReasonFetchFailed)); err != nil {
		t.Errorf("WaitForSync() after an error = %v", err)
	}
}

func TestSyncOfSuspendedSource(t *testing.T) {
	w := newWorld(t)
	var suspended *sources.SuspendedError
	suspend := func() {
		if _, err := w.connect("").Suspend(t.Context(), w.key(), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := waitForSync(t, w, suspend); !errors.As(err, &suspended) {
		t.Errorf("WaitForSync() = %v, want a SuspendedError", err)
	}
	if _, err := w.connect("").RequestSync(t.Context(), w.key(), time.Now()); !errors.As(err, &suspended) {
		t.Errorf("RequestSync() = %v, want a SuspendedError", err)
	}
	if _, err := waitForDeletion(t, w); err == nil || !strings.Contains(err.Error(), "the namespace has none") {
		t.Errorf("WaitForSync() of a deleted TrainJobSource = %v, want that there is none", err)
	}
}

func waitForDeletion(t *testing.T, w *world) (sources.View, error) {
	t.Helper()
	if _, err := w.connect("").Suspend(t.Context(), w.key(), false); err != nil {
		t.Fatal(err)
	}
	return waitForSync(t, w, func() {
		source := w.read()
		if err := w.client.Delete(t.Context(), &source); err != nil {
			t.Fatal(err)
		}
	})
}
