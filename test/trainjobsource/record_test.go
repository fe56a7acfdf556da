package trainjobsource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// fillRecord adds a job to the record of the TrainJobSource, so that the record has no room for new runs.
func (w *world) fillRecord() {
	w.t.Helper()
	found := &corev1.ConfigMap{}
	if err := w.cp.Client().Get(w.t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "trainjobsource.team-a.jobs"}, found); err != nil {
		w.t.Fatal(err)
	}
	found.Data["old"] = fmt.Sprintf(`{"newest":{"generation":1,"spec":%q},"reserved":1,"removed":1}`, strings.Repeat("x", 974<<10))
	if err := w.cp.Client().Update(w.t.Context(), found); err != nil {
		w.t.Fatal(err)
	}
}

// TestFullRecordCanShrink: if the record has no room for the run of a new job, a round must report this problem. The
// round must still delete the run of a job that was removed from Git.
func TestFullRecordCanShrink(t *testing.T) {
	w := newWorld(t, plan.Policy{OnChange: plan.Queue, Prune: plan.Always})
	w.commit("bert", "numNodes: 2")
	w.settle()
	w.fillRecord()
	w.commit("bert", "")
	w.commit("gpt", "numNodes: 1")
	result, err := w.round()
	if err == nil || !strings.Contains(err.Error(), "has room for only 924 KiB") {
		t.Errorf("error %v, want one about the size of the record", err)
	}
	if diff := cmp.Diff([]string{"bert"}, result.Deleted); diff != "" || len(result.Created) > 0 {
		t.Errorf("the round created %v, deleted -want +got:\n%s", result.Created, diff)
	}
	if got := w.runs(); len(got) > 0 {
		t.Errorf("the runs %v still exist", got)
	}
}

// TestFullRecordReplacesNothing: with the policy Replace, the old run must stay if the record has no room for the new run.
func TestFullRecordReplacesNothing(t *testing.T) {
	w := newWorld(t, plan.Policy{OnChange: plan.Replace, Prune: plan.Always})
	w.commit("bert", "numNodes: 2")
	w.settle()
	w.fillRecord()
	w.commit("bert", "numNodes: 3")
	for range 2 {
		if _, err := w.round(); err == nil || !strings.Contains(err.Error(), "has room for only 924 KiB") {
			t.Errorf("error %v, want one about the size of the record", err)
		}
	}
	if diff := cmp.Diff([]string{"bert/1 nodes=2"}, w.runs()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
