package trainjob

import (
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
)

// TestMetrics expects values that were calculated by hand. mpirun starts 20 s after the creation of the TrainJob, and
// the TrainJob fails 60 s after its creation.
func TestMetrics(t *testing.T) {
	now := start.Add(5 * time.Second)
	m := NewMetrics(func() time.Time { return now })
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	pending := state{Phase: jobs.GangScheduling, since: start, waiting: start}
	report(m, snapshotOf("", false), state{Phase: jobs.Pending}, pending)
	expectMetrics(t, registry, `
		trainyard_trainjob_gang_pending_seconds{namespace="team",trainjob="bert"} 5
		trainyard_trainjob_gang_pods{namespace="team",state="missing",trainjob="bert"} 1
		trainyard_trainjob_info{mpi="openmpi",namespace="team",runtime="mpi",runtime_kind="",source_job="bert",trainjob="bert"} 1
		trainyard_trainjob_phase{namespace="team",phase="GangScheduling",trainjob="bert"} 1
		trainyard_trainjob_finished_total{namespace="team",outcome="failed",runtime="mpi"} 0
		trainyard_trainjob_failures_total{class="unknown",namespace="team"} 0`)

	now = start.Add(61 * time.Second)
	failed := state{Phase: jobs.Failed, since: now, started: true, ended: true, cause: &jobs.Cause{Code: "OutOfMemory", Level: "cause", Origin: "user"}}
	snapshot := snapshotOf(trainer.TrainJobFailed, true)
	snapshot.Wanted = jobs.WantedPods{jobs.Node: {Pods: 2}} // JobSet has deleted the pods of the nodes
	report(m, snapshot, pending, failed)
	report(m, snapshot, failed, failed) // a second report must count nothing
	expectMetrics(t, registry, `
		trainyard_trainjob_gang_pending_seconds{namespace="team",trainjob="bert"} 0
		trainyard_trainjob_gang_pods{namespace="team",state="missing",trainjob="bert"} 0
		trainyard_trainjob_gang_pods{namespace="team",state="placed",trainjob="bert"} 0
		trainyard_trainjob_phase{namespace="team",phase="Failed",trainjob="bert"} 1
		trainyard_trainjob_phase{namespace="team",phase="GangScheduling",trainjob="bert"} 0
		trainyard_trainjob_finished_total{namespace="team",outcome="failed",runtime="mpi"} 1
		trainyard_trainjob_failures_total{class="user",namespace="team"} 1
		trainyard_trainjob_diagnoses_total{class="user",code="OutOfMemory",namespace="team"} 1
		trainyard_trainjob_duration_seconds_sum{namespace="team",outcome="failed",runtime="mpi"} 60
		trainyard_trainjob_time_to_start_seconds_sum{namespace="team"} 20
		trainyard_trainjob_phase_duration_seconds_sum{namespace="team",phase="GangScheduling"} 61`)

	m.forget(client.ObjectKeyFromObject(&snapshot.Job))
	if text := gatherText(t, registry); strings.Contains(text, `trainjob="bert"`) {
		t.Errorf("a deleted TrainJob has series:\n%s", text)
	}
}

// TestGangPodsOfStoppedJobs checks that the pods of suspended or deleted TrainJobs count neither as missing nor as
// placed. JobSet deletes these pods, but a pod on an unreachable cluster node can remain for a long time.
func TestGangPodsOfStoppedJobs(t *testing.T) {
	suspended, deleted := snapshotOf("", true), snapshotOf("", true)
	suspended.Job.Spec.Suspend = ptr.To(true)
	deleted.Job.DeletionTimestamp = ptr.To(metav1.NewTime(start))
	for name, tc := range map[string]struct {
		snapshot jobs.Snapshot
		phase    jobs.Phase
	}{"suspended": {suspended, jobs.Suspended}, "deleted": {deleted, jobs.GangScheduling}} {
		tc.snapshot.Wanted = jobs.WantedPods{jobs.Node: {Pods: 2}}
		if v := readGauges(tc.snapshot, "openmpi", state{Phase: tc.phase}); v.placed != 0 || v.missing != 0 {
			t.Errorf("%s: %d pods are placed and %d are missing, want 0", name, v.placed, v.missing)
		}
	}
}

func report(m *Metrics, snapshot jobs.Snapshot, before, current state) {
	m.update(snapshot, "openmpi", current)
	m.observe(snapshot, "openmpi", before, current)
}

// TestPhaseInAnotherCluster: if another cluster runs a TrainJob, the controller does not see the pods of the TrainJob.
// The gauge of the TrainJob's phase must then not show a phase that depends on pods, such as Pending.
func TestPhaseInAnotherCluster(t *testing.T) {
	snapshot := waiting()
	snapshot.Job.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue")
	c := newTestController()
	seen := c.observe(snapshot, state{}, start.Add(time.Hour))
	if seen.Message != "Another cluster runs the TrainJob" || seen.refresh() != 0 {
		t.Errorf("message %q, observed again after %s, want no further observation", seen.Message, seen.refresh())
	}
	for _, tc := range []struct{ phase, want jobs.Phase }{{jobs.Pending, ""}, {jobs.Suspended, jobs.Suspended}, {jobs.Succeeded, jobs.Succeeded}} {
		if v := readGauges(snapshot, "openmpi", state{Phase: tc.phase, elsewhere: true}); v.phase != tc.want {
			t.Errorf("the phase of the gauge is %q for a TrainJob in the phase %s, want %q", v.phase, tc.phase, tc.want)
		}
	}
	ended := state{Phase: jobs.Succeeded, elsewhere: true, ended: true}
	if got := notes(snapshot, seen, ended); len(got) != 1 || got[0].reason != ReasonTrainingComplete {
		t.Errorf("the events at the end are %v, want only %s", got, ReasonTrainingComplete)
	}
}

func TestGangWaitCountsOnce(t *testing.T) {
	m := NewMetrics(func() time.Time { return start })
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	scheduled := snapshotOf(trainer.TrainJobComplete, true)
	scheduled.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(7 * time.Second))}}
	waiting, running, ended := state{Phase: jobs.GangScheduling, waiting: start}, state{Phase: jobs.Running}, state{Phase: jobs.Succeeded, ended: true}
	for _, step := range [][2]state{{waiting, running}, {running, running}, {running, ended}, {ended, ended}} {
		report(m, scheduled, step[0], step[1])
	}
	expectMetrics(t, registry, `
		trainyard_trainjob_gang_scheduling_duration_seconds_sum{namespace="team"} 7
		trainyard_trainjob_gang_scheduling_duration_seconds_count{namespace="team"} 1`)
	waiting.waiting = start.Add(7*time.Second + time.Millisecond) // the condition of the pod has no milliseconds
	report(m, scheduled, waiting, running)
	expectMetrics(t, registry, `
		trainyard_trainjob_gang_scheduling_duration_seconds_sum{namespace="team"} 7
		trainyard_trainjob_gang_scheduling_duration_seconds_count{namespace="team"} 2`)
}

func expectMetrics(t *testing.T, registry *prometheus.Registry, series string) {
	t.Helper()
	text := gatherText(t, registry)
	for line := range strings.Lines(strings.TrimSpace(series)) {
		if line = strings.TrimSpace(line); !strings.Contains(text, line+"\n") {
			t.Errorf("the metrics lack %s:\n%s", line, grep(text, line[:strings.IndexByte(line, '{')]))
		}
	}
}

func gatherText(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

func grep(text, word string) string {
	var found strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, word) {
			found.WriteString(line)
		}
	}
	return found.String()
}
