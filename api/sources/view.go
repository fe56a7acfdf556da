package sources

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Overview summarizes the state of a TrainJobSource.
type Overview struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is the status of the condition Ready: True, False or Unknown. Ready is Unknown if the condition does not exist.
	Ready metav1.ConditionStatus `json:"ready"`
	// Reason is the reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// Current is true if the status describes the newest spec.
	Current bool `json:"current"`
	// Suspended is true if spec.suspend is true. The controller fetches no commits and applies no
	// TrainJobs of a suspended TrainJobSource.
	Suspended bool `json:"suspended"`
	// Summary counts jobs, runs and problems.
	Summary v1alpha1.JobSummary `json:"summary"`
	// Applied is the commit whose TrainJobs were applied last.
	Applied *v1alpha1.Revision `json:"applied,omitempty"`
	// Created is the time at which the TrainJobSource was created.
	Created time.Time `json:"created"`
}

// IsReady returns true if the controller has applied the newest commit (or planned the commit, in a dry run), and if
// the status describes the newest spec.
func (o Overview) IsReady() bool { return o.Ready == metav1.ConditionTrue && o.Current }

// View is the state of a TrainJobSource.
type View struct {
	Overview
	// Message is the message of the condition Ready.
	Message string `json:"message,omitempty"`
	// URL, Ref and Path say where in Git the TrainJobs are.
	URL  string           `json:"url"`
	Ref  *v1alpha1.GitRef `json:"ref,omitempty"`
	Path string           `json:"path"`
	// Interval is the time between two fetches.
	Interval metav1.Duration `json:"interval"`
	// DryRun is true if the controller only computes a plan, and writes no TrainJobs.
	DryRun bool `json:"dryRun"`
	// SyncPending is true if somebody requested a fetch, and the fetch has not ended.
	SyncPending bool `json:"syncPending"`
	// Fetched is the commit that was fetched last.
	Fetched *v1alpha1.Revision `json:"fetched,omitempty"`
	// Jobs and Problems are the lists in the status of the TrainJobSource. These lists have a maximum length. Summary
	// counts all jobs and all problems.
	Jobs     []v1alpha1.JobStatus  `json:"jobs"`
	Problems []v1alpha1.JobProblem `json:"problems"`
}

// JobNames returns the names of the jobs that the status lists.
func (v View) JobNames() []string {
	names := make([]string, len(v.Jobs))
	for i, job := range v.Jobs {
		names[i] = job.Name
	}
	return names
}

// UnlistedJobs returns the number of jobs that the status does not list.
func (v View) UnlistedJobs() int { return max(0, int(v.Summary.Jobs)-len(v.Jobs)) }

func overviewOf(source v1alpha1.TrainJobSource) Overview {
	ready := readyCondition(source)
	return Overview{
		Namespace: source.Namespace,
		Name:      source.Name,
		Ready:     ready.Status,
		Reason:    clean(ready.Reason),
		Current:   source.Status.ObservedGeneration == source.Generation,
		Suspended: source.Spec.Suspend,
		Summary:   source.Status.Summary,
		Applied:   cleanRevision(source.Status.Applied),
		Created:   source.CreationTimestamp.Time,
	}
}

func viewOf(source v1alpha1.TrainJobSource) View {
	spec, status := source.Spec, source.Status
	requested := source.Annotations[v1alpha1.SyncAnnotation]
	view := View{
		Overview:    overviewOf(source),
		Message:     clean(readyCondition(source).Message),
		URL:         clean(spec.URL),
		Path:        clean(spec.Path),
		Interval:    spec.Interval,
		DryRun:      spec.DryRun,
		SyncPending: requested != "" && requested != status.LastSync,
		Fetched:     cleanRevision(status.Fetched),
		Jobs:        make([]v1alpha1.JobStatus, len(status.Jobs)),
		Problems:    make([]v1alpha1.JobProblem, len(status.Problems)),
	}
	if ref := spec.Ref; ref != nil {
		view.Ref = &v1alpha1.GitRef{Branch: clean(ref.Branch), Tag: clean(ref.Tag), Semver: clean(ref.Semver), Commit: clean(ref.Commit)}
	}
	for i, j := range status.Jobs {
		view.Jobs[i] = v1alpha1.JobStatus{Name: clean(j.Name), State: clean(j.State), Message: clean(j.Message), Run: clean(j.Run), Phase: clean(j.Phase)}
	}
	for i, p := range status.Problems {
		view.Problems[i] = v1alpha1.JobProblem{File: clean(p.File), Line: p.Line, Message: clean(p.Message)}
	}
	return view
}

func readyCondition(source v1alpha1.TrainJobSource) metav1.Condition {
	for _, c := range source.Status.Conditions {
		if c.Type == v1alpha1.ReadyCondition {
			return c
		}
	}
	return metav1.Condition{Type: v1alpha1.ReadyCondition, Status: metav1.ConditionUnknown}
}

// clean makes text from a TrainJobSource safe to print. The text can contain control characters, because names and
// messages in the status can come from Git.
func clean(text string) string { return message.PrintableLine(text) }

func cleanRevision(r *v1alpha1.Revision) *v1alpha1.Revision {
	if r == nil {
		return nil
	}
	return &v1alpha1.Revision{Commit: clean(r.Commit), Ref: clean(r.Ref), Time: r.Time}
}
