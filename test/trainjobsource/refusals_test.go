package trainjobsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// TestQuotaRefusesOnce checks that a round with three new jobs sends only one create request if a quota refuses the first
// TrainJob.
func TestQuotaRefusesOnce(t *testing.T) {
	w := newWorld(t, queue)
	none := &corev1.ResourceQuota{}
	none.Namespace, none.Name = w.source.Namespace, "none"
	none.Spec.Hard = corev1.ResourceList{"count/trainjobs.trainer.kubeflow.org": resource.MustParse("0")}
	if err := w.cp.Client().Create(t.Context(), none); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cp.Client().Delete(context.Background(), none) })
	none.Status = corev1.ResourceQuotaStatus{Hard: none.Spec.Hard, Used: none.Spec.Hard} // no quota controller runs
	if err := w.cp.Client().Status().Update(t.Context(), none); err != nil {
		t.Fatal(err)
	}
	controlplane.Eventually(t, func(ctx context.Context) error { // the API server learns about the quota a little later
		probe := &trainer.TrainJob{}
		probe.Namespace, probe.Name, probe.Spec.RuntimeRef.Name = w.source.Namespace, "probe", "mpi"
		if err := w.cp.Client().Create(ctx, probe, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("creating a TrainJob beyond the quota: %w", err)
		}
		return nil
	})
	for i := range 3 {
		w.commit(fmt.Sprintf("job-%d", i), "numNodes: 2")
	}
	writes := w.transport.writes.Load()
	_, err := w.round()
	if got := w.transport.writes.Load() - writes; got != 2 {
		t.Errorf("the round sent %d writes, want 2: the record and one TrainJob", got)
	}
	if err == nil || strings.Count(err.Error(), "not tried") != 2 || !strings.Contains(err.Error(), "quota: none") {
		t.Errorf("the round returns %v, want one refusal by the quota, and two requests that were not tried", err)
	}
}

func TestRefusedJobsDoNotStopOthers(t *testing.T) {
	w := newWorld(t, queue)
	w.commit("bad", "numNodes: 100000")
	w.commit("bert", "numNodes: 2")
	for range 3 {
		if _, err := w.round(); err == nil || !strings.Contains(err.Error(), "node-limit") || !strings.Contains(err.Error(), "creating TrainJob bad: ") {
			t.Errorf("the round returns %v, want an error of the rule node-limit", err)
		}
	}
	if diff := cmp.Diff([]string{"bert/1 nodes=2"}, w.runs()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.commit("bad", "numNodes: 4")
	w.expect("the job is mended", plan.Running, "bad/2 nodes=4", "bert/1 nodes=2")
}

// TestWarnedJobsRun checks a job that breaks an admission rule. If the admission policy only warns about violations,
// the controller must run the job.
func TestWarnedJobsRun(t *testing.T) {
	l := newLive(t)
	editor := l.asEditor()
	setActions := func(actions ...admissionv1.ValidationAction) {
		t.Helper()
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		if err := l.cp.Client().Get(t.Context(), client.ObjectKey{Name: v1alpha1.TenantObjectName(tenants[0])}, binding); err != nil {
			t.Fatal(err)
		}
		binding.Spec.ValidationActions = actions
		if err := l.cp.Client().Update(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	probe := func(ctx context.Context) error {
		job := build.MakeTrainJob("probe", tenants[0]).Runtime("mpi").Nodes(100_000).Obj()
		return editor.Create(ctx, job, client.DryRunAll)
	}
	l.push("alpha", "numNodes: 100000, image: 5") // the API server refuses it in any case
	l.push("big", "numNodes: 100000")
	l.run(l.options())
	l.create()
	l.wait("False", v1alpha1.ReasonJobsInvalid)
	l.waitState("big", "Denied", "")

	setActions(admissionv1.Warn, admissionv1.Audit)
	controlplane.Eventually(t, probe) // the API server reads the binding a little later
	l.sync()
	l.waitRuns("the platform only warns", "big/1 nodes=100000")
	l.waitState("alpha", "Denied", "")

	setActions(admissionv1.Deny, admissionv1.Audit) // for the next test
	controlplane.Eventually(t, func(ctx context.Context) error {
		if err := probe(ctx); err == nil {
			return errors.New("the API server still admits the job")
		}
		return nil
	})
}

// TestMisspelledFieldStopsNoRun: if the new version of a job has a misspelled field or breaks an admission rule, the
// run of the earlier version must stay.
func TestMisspelledFieldStopsNoRun(t *testing.T) {
	l := newLive(t)
	l.object.Spec.OnChange = v1alpha1.ChangeReplace
	l.push("alpha", "numNodes: 2")
	l.push("bert", "numNodes: 2")
	l.run(l.options())
	l.create()
	l.waitRuns("create", "alpha/1 nodes=2", "bert/1 nodes=2")
	l.push("alpha", "numNode: 3")
	l.push("bert", "numNodes: 100000")
	l.sync()
	l.wait("False", v1alpha1.ReasonJobsInvalid)
	l.waitState("alpha", "Denied", "alpha")
	l.waitState("bert", "Denied", "bert")
	l.waitRuns("after the mistakes", "alpha/1 nodes=2", "bert/1 nodes=2")
	l.push("alpha", "numNodes: 3")
	l.push("bert", "")
	l.sync()
	l.waitRuns("the mistakes are mended", "alpha/2 nodes=3", "bert/1 nodes=2")
}
