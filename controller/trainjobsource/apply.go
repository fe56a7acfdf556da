package trainjobsource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
)

// apply is the last step of a round. This step makes a plan that says which TrainJobs to create, change or delete.
// Unless spec.dryRun is true, the step then carries out the plan.
func (r *round) apply(ctx context.Context) bool {
	denied := map[string]bool{}
	for job := range r.denied {
		denied[job] = true
	}
	var err error
	r.result, err = r.Rounds.Reconcile(ctx, r.settings(), r.commit.tree, denied)
	r.reportDenied()
	r.reportRefused(err)
	switch {
	case err != nil:
		return r.fail(failure{reason: v1alpha1.ReasonApplyFailed, message: fmt.Sprintf("applying commit %s: %v", short(r.commit.hash), err)})
	case r.failure == nil && len(r.problems) > 0:
		return r.fail(failure{reason: v1alpha1.ReasonJobsInvalid, stalled: true, message: r.describeProblems()})
	}
	return true
}

// settings converts the settings of the TrainJobSource to the type that package
// reconcile uses.
func (r *round) settings() reconcile.Source {
	spec := r.source.Spec
	return reconcile.Source{
		Namespace: r.source.Namespace, Name: r.source.Name, Account: spec.ServiceAccountName, DryRun: spec.DryRun,
		Retries: retries(r.source.Annotations),
		Policy: plan.Policy{
			OnChange: plan.OnChange(spec.OnChange), Prune: plan.Prune(spec.Prune),
			Succeeded: limitOf(spec.HistoryLimits.Succeeded), Failed: limitOf(spec.HistoryLimits.Failed),
		},
	}
}

// retries reads the retry annotations of a TrainJobSource. A user sets a retry annotation to request another
// run of a job. The result maps the names of jobs to the values of their retry annotations.
func retries(annotations map[string]string) map[string]string {
	found := map[string]string{}
	for key, text := range annotations {
		if job, isRetry := strings.CutPrefix(key, v1alpha1.RetryAnnotationPrefix); isRetry {
			found[job] = text
		}
	}
	return found
}

// defaultLimit equals the default value that the CRD contains for each history limit.
const defaultLimit = 3

func limitOf(limit *int32) int {
	if limit == nil {
		return defaultLimit
	}
	return int(*limit)
}

// reportDenied adds a problem for each job that cannot start because it breaks the admission rules. If the job needs no
// new run, reportDenied adds no problem. For example, a job needs no new run if Git still contains the version of the
// newest run, and no user has requested another run.
func (r *round) reportDenied() {
	for _, job := range r.commit.tree.Jobs {
		if r.result.States[job.Name()] == plan.Denied {
			r.addJobProblem(job, fmt.Sprintf("TrainJob %s: %s", job.Name(), r.denied[job.Name()]), true)
		}
	}
}

// reportRefused adds a problem for each job in Git whose TrainJob could not be created, changed or deleted.
func (r *round) reportRefused(err error) {
	refused := map[string]*reconcile.JobError{}
	for _, one := range errorsIn(err) {
		if job := (*reconcile.JobError)(nil); errors.As(one, &job) {
			refused[job.Job] = job
		}
	}
	for _, job := range r.commit.tree.Jobs {
		if err := refused[job.Name()]; err != nil {
			r.addJobProblem(job, err.Error(), isDenial(err))
		}
	}
}

// isDenial reports whether an error is permanent: the API server will refuse the job until somebody changes the job,
// the rules or the rights. A job that exceeds the quota of its namespace does not count as denied, because the API
// server admits it as soon as other jobs have ended.
func isDenial(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsForbidden(err) && !reconcile.IsOverQuota(err)
}

// errorsIn returns all errors that errors.Join has combined, even if the calls of errors.Join were
// nested. If the argument is a single error, errorsIn returns only this error.
func errorsIn(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, one := range joined.Unwrap() {
		all = append(all, errorsIn(one)...)
	}
	return all
}

func (r *round) addJobProblem(job decode.Job, message string, denied bool) {
	p := newProblem(job.File, job.Line, message)
	p.job, p.denied = job.Name(), denied
	r.problems = append(r.problems, p)
}

// describeProblems returns the status message about mistakes in jobs or files. The message contains the number of problems,
// and the first problem.
func (r *round) describeProblems() string {
	first := r.problems[0]
	where := first.File
	if first.Line > 0 {
		where = fmt.Sprintf("%s:%d", first.File, first.Line)
	}
	return fmt.Sprintf("%s in commit %s; the first problem is in file %s: %s", count(len(r.problems), "problem"), short(r.commit.hash), where, first.Message)
}
