package trainjob

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/diagnosis"
	"github.com/trainyard/trainyard/api/metrics"
)

// Values of the label "outcome".
const (
	succeeded = "succeeded"
	failed    = "failed"
)

// Values of the labels "class" and "code". A failure without a diagnosis has the code unknownCode and the class
// unknownClass. If only a symptom of the failure is known, but not its cause, the class is symptomClass.
const (
	unknownCode  = "UNKNOWN"
	unknownClass = "unknown"
	symptomClass = "symptom"
)

// Metrics holds the metrics of TrainJobs. The file grafana/metrics_trainjob.cue declares these
// metrics.
type Metrics struct {
	duration, phaseDuration, timeToStart, gangDuration, preflight, connect, mpiInit *prometheus.HistogramVec

	finished, failures, diagnoses *prometheus.CounterVec

	gauges gauges

	lock   sync.Mutex
	counts map[string]bool // the namespaces and runtimes whose counters exist
}

// NewMetrics returns metrics without values. The argument "now" is a function that returns the
// current time.
func NewMetrics(now func() time.Time) *Metrics {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: metrics.Buckets()}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		duration: histogram(metrics.TrainJobDuration, "Time from the creation of a TrainJob to its end.",
			metrics.LabelNamespace, metrics.LabelRuntime, metrics.LabelOutcome),
		phaseDuration: histogram(metrics.TrainJobPhaseDuration, "Time that a TrainJob stayed in a phase.", metrics.LabelNamespace, metrics.LabelPhase),
		timeToStart:   histogram(metrics.TrainJobTimeToStart, "Time from the creation of a TrainJob to the start of training.", metrics.LabelNamespace),
		gangDuration: histogram(metrics.TrainJobGangSchedulingDuration,
			"Time that a TrainJob waited for all its pods to be scheduled, not counting time in which the TrainJob was suspended.", metrics.LabelNamespace),
		preflight: histogram(metrics.TrainJobPreflightDuration, "Time that the launcher's preflight took to reach all nodes.",
			metrics.LabelNamespace, metrics.LabelMPI),
		connect: histogram(metrics.TrainJobNodeConnectDuration, "Time that the launcher took to connect to a node over SSH. Each node adds one observation.",
			metrics.LabelNamespace, metrics.LabelMPI),
		mpiInit: histogram(metrics.TrainJobMPIInitDuration, "Time from the start of the launcher's program until a rank printed TRAINYARD_MPI_READY. If no rank printed this text, the time ends with the first line of a rank.",
			metrics.LabelNamespace, metrics.LabelMPI, metrics.LabelSource),
		finished: counter(metrics.TrainJobFinished, "Number of TrainJobs that have ended.", metrics.LabelNamespace, metrics.LabelRuntime, metrics.LabelOutcome),
		failures: counter(metrics.TrainJobFailures, "Number of TrainJobs that have failed, by the class of the failure. The class shows who can fix the failure.",
			metrics.LabelNamespace, metrics.LabelClass),
		diagnoses: counter(metrics.TrainJobDiagnoses, "Number of TrainJobs that have failed, by diagnosis.",
			metrics.LabelNamespace, metrics.LabelCode, metrics.LabelClass),
		gauges: newGauges(now),
		counts: map[string]bool{},
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.duration, m.phaseDuration, m.timeToStart, m.gangDuration, m.preflight, m.connect, m.mpiInit, m.finished, m.failures, m.diagnoses, &m.gauges}
}

// Describe lists the metrics for Prometheus.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(out)
	}
}

// Collect sends the series of all metrics to the channel "out".
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(out)
	}
}

func (m *Metrics) observeMPIStart(start mpiStart, source string, took time.Duration) {
	m.mpiInit.WithLabelValues(start.launcher.Namespace, start.mpi, source).Observe(took.Seconds())
}

// forget removes the gauges of a deleted TrainJob. The counters and histograms remain, because they
// count all TrainJobs of a namespace together.
func (m *Metrics) forget(key types.NamespacedName) { m.gauges.remove(key) }

// update stores the current values of the gauges for a TrainJob. The argument "mpi" is the MPI
// variant of the runtime.
func (m *Metrics) update(snapshot jobs.Snapshot, mpi string, current state) {
	m.startCounters(snapshot)
	m.gauges.set(client.ObjectKeyFromObject(&snapshot.Job), readGauges(snapshot, mpi, current))
}

// observe updates the counters and histograms if the state of a TrainJob has changed since the last report. The
// argument "before" is the last reported state of the TrainJob, and the argument "current" is the current state.
func (m *Metrics) observe(snapshot jobs.Snapshot, mpi string, before, current state) {
	namespace, times := snapshot.Job.Namespace, snapshot.Times()
	isKnown := !before.since.IsZero() && (!before.elsewhere || !isEarly(before.Phase))
	if before.Phase != current.Phase && isKnown {
		m.phaseDuration.WithLabelValues(namespace, string(before.Phase)).Observe(current.since.Sub(before.since).Seconds())
	}
	if wait, ended := gangWait(snapshot, before, current); ended {
		m.gangDuration.WithLabelValues(namespace).Observe(wait.Seconds())
	}
	if current.started && !before.started && !times.Started.IsZero() {
		m.timeToStart.WithLabelValues(namespace).Observe(times.Started.Sub(times.Created).Seconds())
		m.observePreflight(snapshot, mpi)
	}
	if current.ended && !before.ended {
		m.countEnd(snapshot, current)
	}
}

// gangWait returns how long the pods waited for cluster nodes. The result "ended" is true if the wait has
// ended since the last report.
func gangWait(snapshot jobs.Snapshot, before, current state) (wait time.Duration, ended bool) {
	times := snapshot.Times()
	switch {
	case before.isFinal(), current.isFinal(), times.Scheduled.IsZero(), !current.waiting.IsZero(), snapshot.LacksPods():
		return 0, false
	case !before.waiting.IsZero():
		return max(0, times.Scheduled.Sub(before.waiting)), true // conditions contain whole seconds
	case stages[before.Phase] < stages[jobs.GangScheduling] && !times.Resumed.IsZero(): // all pods were scheduled between two reports
		return max(0, times.Scheduled.Sub(times.Resumed)), true
	}
	return 0, false
}

// observePreflight records how long the launcher took to connect to the hosts.
func (m *Metrics) observePreflight(snapshot jobs.Snapshot, mpi string) {
	verdict, _ := snapshot.Verdict()
	if verdict == nil {
		return // the runtime has no preflight
	}
	namespace := snapshot.Job.Namespace
	m.preflight.WithLabelValues(namespace, mpi).Observe(snapshot.PreflightDuration().Seconds())
	for _, ms := range verdict.Milliseconds {
		if ms != nil && *ms >= 0 {
			m.connect.WithLabelValues(namespace, mpi).Observe(float64(*ms) / 1000)
		}
	}
}

// countEnd counts the end of a TrainJob.
func (m *Metrics) countEnd(snapshot jobs.Snapshot, current state) {
	namespace, runtime, outcome := snapshot.Job.Namespace, snapshot.Job.Spec.RuntimeRef.Name, succeeded
	if current.Phase == jobs.Failed {
		outcome = failed
		code, class := classify(current.cause)
		m.failures.WithLabelValues(namespace, class).Inc()
		m.diagnoses.WithLabelValues(namespace, code, class).Inc()
	}
	m.finished.WithLabelValues(namespace, runtime, outcome).Inc()
	times := snapshot.Times()
	m.duration.WithLabelValues(namespace, runtime, outcome).Observe(times.Ended.Sub(times.Created).Seconds())
}

// startCounters creates the counters for a namespace and a runtime. The counters must exist with the value 0 before the
// first event, because PromQL's increase() would otherwise miss this event.
func (m *Metrics) startCounters(snapshot jobs.Snapshot) {
	namespace, runtime := snapshot.Job.Namespace, snapshot.Job.Spec.RuntimeRef.Name
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.counts[namespace+"/"+runtime] {
		return
	}
	for _, outcome := range []string{succeeded, failed} {
		m.finished.WithLabelValues(namespace, runtime, outcome)
	}
	m.counts[namespace+"/"+runtime] = true
	if m.counts[namespace] {
		return
	}
	m.counts[namespace] = true
	m.startFailure(namespace, unknownCode, unknownClass)
	for _, f := range diagnosis.Catalogue() {
		m.startFailure(namespace, f.Code, classOf(f.Level, f.Origin))
	}
}

func (m *Metrics) startFailure(namespace, code, class string) {
	m.failures.WithLabelValues(namespace, class)
	m.diagnoses.WithLabelValues(namespace, code, class)
}

// classify returns the values of the labels "code" and "class" for the cause of a failure.
func classify(cause *jobs.Cause) (code, class string) {
	if cause == nil {
		return unknownCode, unknownClass
	}
	return cause.Code, classOf(cause.Level, cause.Origin)
}

// classOf returns the value of the label "class". The label "class" says who can fix a failure: the user, the
// administrator of the platform, or the administrator of the infrastructure. If only a symptom of the failure is
// known, the value of the label is symptomClass.
func classOf(level diagnosis.Level, origin diagnosis.Origin) string {
	switch {
	case level == diagnosis.Symptom:
		return symptomClass
	case origin == "user" || origin == "platform":
		return string(origin)
	}
	return "infra"
}
