package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Condition types of a TrainJobSource. The condition types follow the conventions of kstatus, so kubectl wait, Argo
// CD and Flux can evaluate the conditions.
const (
	// ReadyCondition is True after the newest commit was applied, or planned in a dry run.
	ReadyCondition = "Ready"
	// ReconcilingCondition is True while a commit is fetched or applied, and after an error that may be temporary.
	ReconcilingCondition = "Reconciling"
	// StalledCondition is True after an error that somebody must fix.
	StalledCondition = "Stalled"
)

// Reasons in the conditions and in the events of a TrainJobSource.
const (
	ReasonApplied            = "Applied"            // the TrainJobs match the commit
	ReasonDryRun             = "DryRun"             // the plan for the commit is in the status, and nothing was changed
	ReasonSuspended          = "Suspended"          // spec.suspend is true
	ReasonFetchFailed        = "FetchFailed"        // the repository could not be fetched
	ReasonVerificationFailed = "VerificationFailed" // the commit does not meet spec.verify
	ReasonJobsInvalid        = "JobsInvalid"        // files or jobs of the commit have mistakes
	ReasonApplyFailed        = "ApplyFailed"        // a TrainJob or the controller's record of runs could not be written
	ReasonProgressing        = "Progressing"        // the controller waits for other rounds, or deletes runs
)

// Annotations and labels that TrainJobSources use.
const (
	// SyncAnnotation is an annotation on a TrainJobSource. When the value of SyncAnnotation changes, the controller
	// fetches the repository, and then copies the value to status.lastSync.
	SyncAnnotation = Group + "/sync"
	// RetryAnnotationPrefix, followed by the name of a job, is the key of an annotation on a TrainJobSource. If a
	// user gives this annotation a new value that is not empty, the job runs again, even if the job has not
	// changed in Git.
	RetryAnnotationPrefix = "retry." + Group + "/"
	// HostsAnnotation is an annotation on a Secret. Its value is a comma-separated list of the hosts to which the
	// Secret's credentials may be sent. For http, an entry must contain the port of the Git server. For https and ssh,
	// an entry must contain this port if it is not the default port of the protocol.
	HostsAnnotation = Group + "/hosts"
	// WebhookKey is a key in the Secret of a TrainJobSource. The value is the secret of the Git
	// server's webhook. The Git server must be configured with the same value, and uses the value
	// to prove that a call is genuine.
	WebhookKey = "webhook"
	// ShardLabel is a label on a TrainJobSource. If several controllers share the work, each controller
	// handles the TrainJobSources whose ShardLabel equals the controller's shard.
	ShardLabel = Group + "/shard"
)

// TrainJobSourceStatus says what the controller fetched and applied last, and contains the state of each job.
type TrainJobSourceStatus struct {
	// observedGeneration is the metadata.generation that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready, Reconciling and Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// fetched is the commit that was fetched last.
	// +optional
	Fetched *Revision `json:"fetched,omitempty"`
	// applied is the commit whose TrainJobs were applied last.
	// +optional
	Applied *Revision `json:"applied,omitempty"`
	// lastSync is the value of the annotation trainyard.dev/sync at the last fetch.
	// +optional
	LastSync string `json:"lastSync,omitempty"`
	// summary counts jobs, runs and problems.
	// +optional
	Summary JobSummary `json:"summary,omitzero"`
	// jobs contains the jobs in Git and their runs: first jobs with problems, then jobs with active runs, then all
	// others.
	// At most 100 jobs are listed.
	// +listType=map
	// +listMapKey=name
	// +optional
	Jobs []JobStatus `json:"jobs,omitempty"`
	// problems lists mistakes in files of the repository. It also lists jobs that are denied by the rules of the platform
	// or by the API server. At most 20 problems are listed; summary.problems is the number of all problems.
	// +listType=atomic
	// +optional
	Problems []JobProblem `json:"problems,omitempty"`
}

// Revision is a commit of the repository.
type Revision struct {
	// commit is the hash of the commit.
	Commit string `json:"commit"`
	// ref is the reference from which the commit was fetched, such as refs/heads/main or refs/tags/v1.2.0.
	// +optional
	Ref string `json:"ref,omitempty"`
	// time is the time at which the controller first saw this commit at this reference.
	Time metav1.Time `json:"time"`
}

// JobSummary counts the jobs, runs and problems of a TrainJobSource.
type JobSummary struct {
	// jobs is the number of jobs in Git.
	Jobs int32 `json:"jobs"`
	// active is the number of runs that have not ended.
	Active int32 `json:"active"`
	// succeeded is the number of succeeded runs in the cluster.
	Succeeded int32 `json:"succeeded"`
	// failed is the number of failed runs in the cluster.
	Failed int32 `json:"failed"`
	// problems is the number of mistakes in files, plus the number of jobs that are denied by the rules of the platform or
	// by the API server.
	Problems int32 `json:"problems"`
}

// JobStatus is the state of one job in Git.
type JobStatus struct {
	// name is the metadata.name of the TrainJob in Git.
	Name string `json:"name"`
	// state is the last decision of the controller about the job, such as Running, Waiting or Denied.
	State string `json:"state"`
	// message explains the state, if it needs an explanation.
	// +optional
	Message string `json:"message,omitempty"`
	// run is the name of the newest TrainJob of the job. This name differs from the name of the job if another TrainJob
	// already had the name of the job.
	// +optional
	Run string `json:"run,omitempty"`
	// phase is the phase of the job's newest TrainJob, whose name is in the field run. The phase is Active, Succeeded
	// or Failed.
	// +optional
	Phase string `json:"phase,omitempty"`
}

// JobProblem is a mistake in a file of the repository.
type JobProblem struct {
	// file is the path of the file in the repository.
	// +optional
	File string `json:"file,omitempty"`
	// line is the number of the line with the mistake, or of the first line of a TrainJob that was denied, counted from
	// 1. The field line is 0 if the problem concerns the whole file.
	// +optional
	Line int32 `json:"line,omitempty"`
	// message says what is wrong, and what is allowed.
	Message string `json:"message"`
}
