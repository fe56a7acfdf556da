package trainjobsource

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// These constants limit the numbers of jobs and problems in the status. They also limit the lengths of messages and
// paths. These lengths are numbers of bytes in JSON. A status that reaches every limit is still smaller than 200 KiB.
const (
	maxJobs     = 100
	maxProblems = 20
	maxMessage  = 1000
	maxPath     = 1000
)

// writeStatus writes the status to the cluster if it has changed. It also emits events about created and deleted
// TrainJobs, and about a change of the condition Ready.
func (r *round) writeStatus(ctx context.Context) error {
	r.emit()
	if equality.Semantic.DeepEqual(r.before.Status, r.source.Status) {
		return nil
	}
	status := *r.source.Status.DeepCopy()
	version := r.before.ResourceVersion
	if err := r.Client.Status().Patch(ctx, r.source, client.MergeFrom(r.before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status: %w", err))
	}
	r.state.written = written{version, status}
	return nil
}

// summarize fills the status.
func (r *round) summarize() {
	status := &r.source.Status
	status.ObservedGeneration, status.LastSync = r.source.Generation, r.state.sync
	switch {
	case r.commit != nil && r.result.States != nil:
		r.listProblems()
		r.listJobs()
	case r.commit != nil && r.commit.failure != nil:
		// The condition Ready says why the folder cannot be read. The status does not keep the earlier problems, because
		// the files with the problems may no longer exist.
		status.Problems, status.Summary.Problems = nil, 0
	}
	if r.failure == nil {
		if !r.source.Spec.DryRun {
			status.Applied = r.revision(status.Applied, r.commit.hash, r.commit.ref)
		}
		r.Metrics.matched(r.state.key, r.state.fetched)
	}
	r.setConditions(r.failure)
}

// setConditions sets the conditions as kstatus expects them. The conditions Reconciling and Stalled are never both
// True. If Ready is True, both are False. The argument f is the reason why Ready is False, or nil.
func (r *round) setConditions(f *failure) {
	var text string
	ready, reason := metav1.ConditionTrue, v1alpha1.ReasonApplied
	reconciling, stalled := metav1.ConditionFalse, metav1.ConditionFalse
	switch {
	case f != nil && f.stalled:
		ready, reason, text, stalled = metav1.ConditionFalse, f.reason, f.message, metav1.ConditionTrue
	case f != nil:
		ready, reason, text, reconciling = metav1.ConditionFalse, f.reason, f.message, metav1.ConditionTrue
	case r.source.Spec.DryRun:
		reason, text = v1alpha1.ReasonDryRun, fmt.Sprintf("would apply commit %s with %s, but spec.dryRun is true, so nothing was changed", r.commit, count(len(r.commit.tree.Jobs), "job"))
	default:
		text = fmt.Sprintf("applied commit %s with %s", r.commit, count(len(r.commit.tree.Jobs), "job"))
	}
	r.setCondition(v1alpha1.ReadyCondition, ready, reason, text)
	r.setCondition(v1alpha1.ReconcilingCondition, reconciling, reason, text)
	r.setCondition(v1alpha1.StalledCondition, stalled, reason, text)
}

func (r *round) setCondition(kind string, status metav1.ConditionStatus, reason, text string) {
	meta.SetStatusCondition(&r.source.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: shorten(text, maxMessage), ObservedGeneration: r.source.Generation,
	})
}

// revision returns a v1alpha1.Revision, which contains a commit, its branch or tag, and a time. If the argument
// "before" contains the same commit and the same branch or tag, revision returns "before" with its earlier time.
// Otherwise, the time in the result is the start time of the round.
func (r *round) revision(before *v1alpha1.Revision, commit, ref string) *v1alpha1.Revision {
	if before != nil && before.Commit == commit && before.Ref == ref {
		return before
	}
	return &v1alpha1.Revision{Commit: commit, Ref: ref, Time: metav1.NewTime(r.now).Rfc3339Copy()}
}

// listProblems writes the mistakes in Git to the field status.problems, and counts them. It leaves out failures whose
// cause is not in Git, such as an exceeded quota. The function jobStatus writes the messages of these failures to
// status.jobs.
func (r *round) listProblems() {
	status := &r.source.Status
	status.Problems = nil
	var all []v1alpha1.JobProblem
	for _, p := range r.problems {
		if p.job == "" || p.denied {
			all = append(all, p.JobProblem)
		}
	}
	status.Problems = all[:min(maxProblems, len(all))]
	status.Summary.Problems = number(len(all))
}

// listJobs writes the list of jobs to status.jobs, and the numbers of jobs and TrainJobs to status.summary.
func (r *round) listJobs() {
	status := &r.source.Status
	status.Summary = v1alpha1.JobSummary{Jobs: number(len(r.commit.tree.Jobs)), Problems: status.Summary.Problems}
	status.Jobs = nil
	for _, job := range r.commit.tree.Jobs {
		status.Jobs = append(status.Jobs, r.jobStatus(job.Name()))
	}
	for _, t := range r.result.TrainJobs {
		switch {
		case t.Job == "":
		case t.Phase == plan.Active:
			status.Summary.Active++
		case t.Phase == plan.Succeeded:
			status.Summary.Succeeded++
		case t.Phase == plan.Failed:
			status.Summary.Failed++
		}
	}
	status.Summary.Active += number(len(r.result.Created))
	withProblem := map[string]bool{}
	for _, p := range r.problems {
		withProblem[p.job] = true
	}
	slices.SortStableFunc(status.Jobs, func(a, b v1alpha1.JobStatus) int { return cmp.Compare(rank(a, withProblem), rank(b, withProblem)) })
	status.Jobs = status.Jobs[:min(maxJobs, len(status.Jobs))]
}

// rank returns the sort key of a job in the status: jobs with problems come
// first, then jobs with active runs, then all other jobs.
func rank(job v1alpha1.JobStatus, withProblem map[string]bool) int {
	switch {
	case withProblem[job.Name]:
		return 0
	case job.Phase == string(plan.Active):
		return 1
	}
	return 2
}

// jobStatus returns the entry of a job in status.jobs.
func (r *round) jobStatus(name string) v1alpha1.JobStatus {
	job := v1alpha1.JobStatus{Name: name, State: string(r.result.States[name])}
	if runs := r.result.Record[name].Runs; len(runs) > 0 {
		newest := runs[len(runs)-1]
		phase := plan.Active // a run that the round has created
		if t, exists := r.result.TrainJobs[newest.Name]; exists && t.Job == name {
			phase = t.Phase
		}
		if exists := newest.Created || slices.Contains(r.result.Created, newest.Name); exists {
			job.Run, job.Phase = newest.Name, string(phase)
		}
	}
	switch plan.State(job.State) {
	case plan.Duplicated:
		job.Message = fmt.Sprintf("TrainJobSource %s already has a job with this name: rename one of the two jobs", r.result.Taken[name])
	case plan.Waiting:
		job.Message = "waits until the earlier runs of the job have ended"
	case plan.Ignored:
		job.Message = "the change in Git has no effect, because spec.onChange is Ignore"
	}
	for _, p := range r.problems {
		if p.job == name {
			job.Message = p.Message
			if p.denied {
				job.State = string(plan.Denied)
			}
		}
	}
	return job
}

// newProblem returns a problem with a message that fits into the status.
func newProblem(file string, line int, text string) problem {
	return problem{JobProblem: v1alpha1.JobProblem{File: shorten(file, maxPath), Line: number(line), Message: shorten(text, maxMessage)}}
}

// shorten cuts a text if the JSON form of the text is too long. The argument "most" is the maximum length of the JSON
// form, in bytes and without quotes. In the JSON form, some characters need six bytes. shorten appends an ellipsis to a
// cut text. The maximum length does not include the 3 bytes of the ellipsis.
func shorten(text string, most int) string {
	size := 0
	for i, r := range text {
		encoded, _ := json.Marshal(string(r)) // a string can always be encoded
		if size += len(encoded) - len(`""`); size > most {
			return text[:i] + "…"
		}
	}
	return text
}

// number converts an int to int32, the type of numbers in the API. If the int is too large, the result is the largest
// int32.
func number(n int) int32 { return int32(min(n, math.MaxInt32)) } //nolint:gosec // min prevents an overflow

// count returns a text with a number and its noun, such as "2 jobs".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short returns the first 12 characters of a hash.
func short(hash string) string { return hash[:min(len(hash), 12)] }

// String returns the short hash of the commit, and its branch or tag if it has one.
func (c *commit) String() string {
	if c.ref == "" {
		return short(c.hash)
	}
	return short(c.hash) + " of " + c.ref
}
