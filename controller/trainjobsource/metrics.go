package trainjobsource

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// reasons are the values of the label "reason" of the metric that counts errors.
var reasons = []string{v1alpha1.ReasonFetchFailed, v1alpha1.ReasonVerificationFailed, v1alpha1.ReasonJobsInvalid, v1alpha1.ReasonApplyFailed}

// Metrics are the metrics of all TrainJobSources. grafana/metrics_platform.cue declares them.
type Metrics struct {
	fetches   prometheus.Histogram
	errors    *prometheus.CounterVec
	age       *prometheus.Desc
	interval  *prometheus.Desc
	staleness *prometheus.Desc
	now       func() time.Time

	lock    sync.Mutex
	sources map[types.NamespacedName]*sourceMetrics
	waiting map[types.NamespacedName]time.Time // the arrival time of the oldest change that waits for a round
	running map[types.NamespacedName]time.Time // the arrival time of the oldest change that a round handles now
}

// sourceMetrics are the values of one TrainJobSource.
type sourceMetrics struct {
	matched   time.Time // when the TrainJobSource last matched Git
	interval  time.Duration
	suspended bool
}

// NewMetrics returns metrics without values.
func NewMetrics(now func() time.Time) *Metrics {
	labels := []string{metrics.LabelNamespace, metrics.LabelTrainJobSource}
	return &Metrics{
		fetches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: metrics.SourceFetchDuration, Help: "Time to fetch a TrainJobSource.", Buckets: metrics.Buckets(),
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metrics.SourceErrors, Help: "Number of times that a TrainJobSource could not be fetched or applied.",
		}, append(labels, metrics.LabelReason)),
		age:       prometheus.NewDesc(metrics.SourceRevisionAge, "Time since a TrainJobSource last matched Git.", labels, nil),
		interval:  prometheus.NewDesc(metrics.SourceInterval, "Interval at which a TrainJobSource is fetched from Git; no series while the TrainJobSource is suspended.", labels, nil),
		staleness: prometheus.NewDesc(metrics.ControllerStatusStaleness, "Age of the oldest change that the controller has received but not yet processed.", nil, nil),
		now:       now,
		sources:   map[types.NamespacedName]*sourceMetrics{},
		waiting:   map[types.NamespacedName]time.Time{},
		running:   map[types.NamespacedName]time.Time{},
	}
}

// Describe lists the metrics for Prometheus.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	m.fetches.Describe(out)
	m.errors.Describe(out)
	for _, d := range []*prometheus.Desc{m.age, m.interval, m.staleness} {
		out <- d
	}
}

// Collect returns the current values for Prometheus.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.fetches.Collect(out)
	m.errors.Collect(out)
	m.lock.Lock()
	defer m.lock.Unlock()
	now := m.now()
	for key, s := range m.sources {
		out <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, now.Sub(s.matched).Seconds(), key.Namespace, key.Name)
		if !s.suspended {
			out <- prometheus.MustNewConstMetric(m.interval, prometheus.GaugeValue, s.interval.Seconds(), key.Namespace, key.Name)
		}
	}
	oldest := now
	for _, changes := range []map[types.NamespacedName]time.Time{m.waiting, m.running} {
		for _, received := range changes {
			if received.Before(oldest) {
				oldest = received
			}
		}
	}
	out <- prometheus.MustNewConstMetric(m.staleness, prometheus.GaugeValue, now.Sub(oldest).Seconds())
}

// received saves the arrival time of an event, which is the current time. The event is about a TrainJobSource or about
// one of its TrainJobs. If an earlier event still waits for a round, the method keeps the earlier time.
func (m *Metrics) received(key types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if _, known := m.waiting[key]; !known {
		m.waiting[key] = m.now()
	}
}

// start records the beginning of a round. The caller calls the returned function at
// the end of the round.
func (m *Metrics) start(key types.NamespacedName) (end func()) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if received, waiting := m.waiting[key]; waiting {
		m.running[key] = received
		delete(m.waiting, key)
	}
	return func() {
		m.lock.Lock()
		defer m.lock.Unlock()
		delete(m.running, key)
	}
}

// observe updates the metric values that come from the TrainJobSource object itself. When the
// controller starts, it does not know when a TrainJobSource last matched Git. The controller therefore takes the time of
// the last match from the condition Ready.
func (m *Metrics) observe(source *v1alpha1.TrainJobSource, now time.Time) {
	m.lock.Lock()
	defer m.lock.Unlock()
	key := client.ObjectKeyFromObject(source)
	s := m.sources[key]
	if s == nil {
		s = &sourceMetrics{matched: lastMatch(source, now)}
		m.sources[key] = s
		for _, reason := range reasons {
			m.errors.WithLabelValues(key.Namespace, key.Name, reason)
		}
	}
	s.interval, s.suspended = source.Spec.Interval.Duration, source.Spec.Suspend
}

// lastMatch returns the time at which a TrainJobSource last matched Git, according to its status.
func lastMatch(source *v1alpha1.TrainJobSource, now time.Time) time.Time {
	switch ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ReadyCondition); {
	case ready == nil:
		return source.CreationTimestamp.Time
	case ready.Status == metav1.ConditionTrue:
		return now
	default:
		return ready.LastTransitionTime.Time
	}
}

// matched(key, at) stores the time at which a TrainJobSource last matched Git. A round can succeed, fail or end early.
// A round ends early if it would have to wait for other rounds. If a round succeeds, the TrainJobSource counts as
// matching Git. The argument "at" is the time of the last successful fetch.
func (m *Metrics) matched(key types.NamespacedName, at time.Time) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if s := m.sources[key]; s != nil {
		s.matched = at
	}
}

// failed(key, reason) adds 1 to the error counter of a TrainJobSource for the given reason.
func (m *Metrics) failed(key types.NamespacedName, reason string) {
	m.errors.WithLabelValues(key.Namespace, key.Name, reason).Inc()
}

// measureFetch begins to measure the time of a fetch. The measurement ends when the caller calls
// the returned function.
func (m *Metrics) measureFetch() (end func()) {
	start := time.Now()
	return func() { m.fetches.Observe(time.Since(start).Seconds()) }
}

// forget deletes the metrics of a TrainJobSource.
func (m *Metrics) forget(key types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.sources, key)
	for _, reason := range reasons {
		m.errors.DeleteLabelValues(key.Namespace, key.Name, reason)
	}
}
