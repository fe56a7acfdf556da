// Package metrics declares the names of the metrics that trainyard emits, and the names of their labels. The files
// grafana/metrics*.cue describe each metric. A test checks that package metrics contains exactly the metrics and
// labels that these files declare for the controller.
package metrics

// Each of the following metrics describes one TrainJob, and is exported while the TrainJob exists.
const (
	TrainJobInfo             = "trainyard_trainjob_info"
	TrainJobPhase            = "trainyard_trainjob_phase"
	TrainJobCreatedTimestamp = "trainyard_trainjob_created_timestamp_seconds"
	TrainJobGangPending      = "trainyard_trainjob_gang_pending_seconds"
	TrainJobGangPods         = "trainyard_trainjob_gang_pods"
	TrainJobSlotsExpected    = "trainyard_trainjob_slots_expected"
	TrainJobSlotsDetected    = "trainyard_trainjob_slots_detected"
	TrainJobQueuePosition    = "trainyard_trainjob_queue_position"
)

// Each of the following metrics is a histogram or a counter for all TrainJobs of a namespace.
const (
	TrainJobDuration               = "trainyard_trainjob_duration_seconds"
	TrainJobPhaseDuration          = "trainyard_trainjob_phase_duration_seconds"
	TrainJobTimeToStart            = "trainyard_trainjob_time_to_start_seconds"
	TrainJobGangSchedulingDuration = "trainyard_trainjob_gang_scheduling_duration_seconds"
	TrainJobPreflightDuration      = "trainyard_trainjob_preflight_duration_seconds"
	TrainJobMPIInitDuration        = "trainyard_trainjob_mpi_init_duration_seconds"
	TrainJobNodeConnectDuration    = "trainyard_trainjob_node_connect_duration_seconds"
	TrainJobFinished               = "trainyard_trainjob_finished_total"
	TrainJobFailures               = "trainyard_trainjob_failures_total"
	TrainJobDiagnoses              = "trainyard_trainjob_diagnoses_total"
)

// The following metrics describe runtimes, TrainJobSources and the controller.
const (
	RuntimeInfo               = "trainyard_runtime_info"
	SourceFetchDuration       = "trainyard_trainjobsource_fetch_duration_seconds"
	SourceErrors              = "trainyard_trainjobsource_errors_total"
	SourceRevisionAge         = "trainyard_trainjobsource_revision_age_seconds"
	SourceInterval            = "trainyard_trainjobsource_interval_seconds"
	ControllerStatusStaleness = "trainyard_controller_status_staleness_seconds"
	BuildInfo                 = "trainyard_build_info"
)

// Labels of these metrics.
const (
	LabelClass            = "class"
	LabelCode             = "code"
	LabelDeprecated       = "deprecated"
	LabelGoVersion        = "goversion"
	LabelMPI              = "mpi"
	LabelNamespace        = "namespace"
	LabelOutcome          = "outcome"
	LabelPhase            = "phase"
	LabelQueue            = "queue"
	LabelReason           = "reason"
	LabelRevision         = "revision"
	LabelRuntime          = "runtime"
	LabelRuntimeKind      = "runtime_kind"
	LabelRuntimeNamespace = "runtime_namespace"
	LabelSource           = "source"
	LabelSourceJob        = "source_job"
	LabelState            = "state"
	LabelTrainJob         = "trainjob"
	LabelTrainJobSource   = "trainjobsource"
	LabelVersion          = "version"
)

// Buckets lists the upper bounds of the histogram buckets, in seconds.
func Buckets() []float64 {
	return []float64{0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400}
}
