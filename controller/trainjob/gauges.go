package trainjob

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// phases lists all values of the label "phase".
var phases = []jobs.Phase{jobs.Pending, jobs.GangScheduling, jobs.Initializing, jobs.Running, jobs.Succeeded, jobs.Failed, jobs.Suspended}

// gauges holds the values of the gauge metrics of all existing TrainJobs.
type gauges struct {
	now                                 func() time.Time
	info, phase, created, pending, pods *prometheus.Desc
	slotsExpected, slotsDetected, queue *prometheus.Desc

	lock sync.Mutex
	jobs map[types.NamespacedName]gaugeValues
}

// gaugeValues are the values of the gauge metrics for one TrainJob.
type gaugeValues struct {
	labels  []string // label values of the metric "info", without the namespace and the name
	phase   jobs.Phase
	created time.Time
	// The field "waiting" is the time at which the TrainJob began to wait for cluster nodes. If the TrainJob does not
	// wait, the field is zero.
	waiting         time.Time
	placed, missing int
	verdict         *jobs.Verdict
	queue           string
	ahead           *int
}

func newGauges(now func() time.Time) gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{metrics.LabelNamespace, metrics.LabelTrainJob}, labels...), nil)
	}
	return gauges{
		now: now, jobs: map[types.NamespacedName]gaugeValues{},
		info: desc(metrics.TrainJobInfo, "Information about a TrainJob, as labels of a series with the value 1.",
			metrics.LabelRuntime, metrics.LabelRuntimeKind, metrics.LabelMPI, metrics.LabelSourceJob),
		phase:   desc(metrics.TrainJobPhase, "Phase of a TrainJob: 1 for the current phase, 0 for all others. If another cluster runs the TrainJob, only the phases Suspended, Succeeded and Failed can have the value 1, so all values are 0 while the TrainJob runs.", metrics.LabelPhase),
		created: desc(metrics.TrainJobCreatedTimestamp, "Creation time of a TrainJob, in seconds since 1970."),
		pending: desc(metrics.TrainJobGangPending,
			"Time that a TrainJob has waited for all its pods to be scheduled, not counting time in which the TrainJob was suspended. The value is 0 as soon as all pods are scheduled."),
		pods: desc(metrics.TrainJobGangPods,
			"Number of pods of a TrainJob that are scheduled to a Kubernetes node (placed), or not scheduled yet (missing).", metrics.LabelState),
		slotsExpected: desc(metrics.TrainJobSlotsExpected, "Number of MPI slots in the hostfile."),
		slotsDetected: desc(metrics.TrainJobSlotsDetected, "Number of MPI slots that the preflight found on the reachable nodes."),
		queue: desc(metrics.TrainJobQueuePosition,
			"Number of jobs ahead of this TrainJob in its queue; no series if the position is unknown.", metrics.LabelQueue),
	}
}

// Describe lists the gauges.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{g.info, g.phase, g.created, g.pending, g.pods, g.slotsExpected, g.slotsDetected, g.queue} {
		out <- desc
	}
}

// Collect sends the series of all TrainJobs to the channel "out".
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	g.lock.Lock()
	all := maps.Clone(g.jobs)
	g.lock.Unlock()
	for key, values := range all {
		g.collect(out, key, values)
	}
}

func (g *gauges) collect(out chan<- prometheus.Metric, key types.NamespacedName, v gaugeValues) {
	add := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{key.Namespace, key.Name}, labels...)...)
	}
	add(g.info, 1, v.labels...)
	for _, phase := range phases {
		value := 0.0
		if phase == v.phase {
			value = 1
		}
		add(g.phase, value, string(phase))
	}
	add(g.created, float64(v.created.Unix()))
	pending := 0.0
	if !v.waiting.IsZero() {
		pending = g.now().Sub(v.waiting).Seconds()
	}
	add(g.pending, pending)
	add(g.pods, float64(v.placed), "placed")
	add(g.pods, float64(v.missing), "missing")
	if v.verdict != nil {
		add(g.slotsExpected, float64(v.verdict.Slots))
		add(g.slotsDetected, float64(v.verdict.Available))
	}
	if v.ahead != nil {
		add(g.queue, float64(*v.ahead), v.queue)
	}
}

func (g *gauges) set(key types.NamespacedName, v gaugeValues) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.jobs[key] = v
}

func (g *gauges) remove(key types.NamespacedName) {
	g.lock.Lock()
	defer g.lock.Unlock()
	delete(g.jobs, key)
}

// readGauges returns the values of the gauges for a TrainJob. The argument "mpi" is the MPI variant
// of the runtime.
func readGauges(snapshot jobs.Snapshot, mpi string, current state) gaugeValues {
	job := &snapshot.Job
	v := gaugeValues{phase: current.Phase, created: job.CreationTimestamp.Time}
	v.labels = []string{job.Spec.RuntimeRef.Name, ptr.Deref(job.Spec.RuntimeRef.Kind, ""), mpi, cmp.Or(job.Labels[trainjobs.JobLabel], job.Name)}
	if current.elsewhere && isEarly(current.Phase) {
		v.phase = "" // the pods are in the other cluster
	}
	// If a TrainJob ends, is suspended or is deleted, its running pods are deleted. These pods must not count as
	// missing, so the values "placed" and "missing" stay 0.
	if !current.isFinal() && current.Phase != jobs.Suspended && job.DeletionTimestamp.IsZero() {
		v.placed, v.missing = snapshot.CountScheduled()
	}
	v.waiting = current.waiting
	v.verdict, _ = snapshot.Verdict() // ignore the error: the message of the TrainJob describes an invalid verdict
	if v.queue = snapshot.Queue(); snapshot.Workload != nil && current.Phase == jobs.Suspended {
		v.ahead = snapshot.Workload.Ahead
	}
	return v
}
