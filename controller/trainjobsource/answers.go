package trainjobsource

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
)

// answers holds the results of dry runs. The controller evaluates the admission rules itself, but it does not know
// whether the API server enforces the rules. Depending on the field spec.admission.enforce of the platform, a job
// that breaks a rule can be refused, or can cause only a warning or an entry in the audit log. Therefore, if the
// rules deny a job, the controller sends a dry run to the API server. The answer shows whether the API server
// would admit the job.
type answers struct {
	jobs    map[string]answer // by the name of the job
	last    string            // the name of the job of the last dry run
	hour    time.Time         // the start of the hour to which the next two fields apply
	asked   int               // the number of dry runs
	refused int               // the number of refused dry runs; a request to fetch sets it to 0
	sync    string            // the annotation trainyard.dev/sync, with which a user requests a fetch
	pause   time.Time         // no dry runs before this time
}

// answer is the result of a dry run.
type answer struct {
	job      [sha256.Size]byte // the digest of the job in Git
	sync     string            // the annotation trainyard.dev/sync at the time of the dry run
	at       time.Time
	admitted bool
	reason   string // the API server's reason to refuse the job; empty if it admits the job, or if the rules are the reason
}

const (
	// maxRefused is the maximum number of refused dry runs in an hour, counted for each TrainJobSource. After this
	// number of refused dry runs, the controller sends no more dry runs for the TrainJobSource in this hour. If a user
	// requests a fetch, the count starts again at 0. When the limit is reached, some jobs that break admission rules
	// may still need a dry run. These jobs stay denied, and get their dry runs later.
	maxRefused = 20
	// maxSilent is the maximum number of dry runs without an answer in a round, which is one pass over a
	// TrainJobSource. After maxSilent dry runs without an answer, the round sends no more dry runs. Even a single dry
	// run without an answer starts a pause after the round. During this pause of length silentPause, the controller
	// sends no dry runs, unless a user requests a fetch.
	maxSilent   = 3
	silentPause = 5 * time.Minute
	// maxAsked is the maximum number of dry runs in a round, and maxAskedInHour is the maximum number in an hour.
	maxAsked, maxAskedInHour = 100, 2000
	// maxReason is the maximum length, in bytes, of the reason for which the API server refuses a
	// job.
	maxReason = 1000
)

// dropWarnings removes jobs from the map r.denied, which contains the jobs that break admission rules. If the API
// server admits one of these jobs in a dry run, dropWarnings removes the job from the map. The successful dry run shows
// that the API server does not enforce the rules that the job breaks. If the API server refuses the job for another
// reason, this reason replaces the message in r.denied. Sometimes a dry run does not show whether the API server would
// admit the job, for example because a webhook is not available. Such a dry run counts as a dry run without an answer.
// In this case, dropWarnings uses the previous answer, even if that answer is outdated. If there is no previous answer,
// or if the job in Git has changed since that answer, the job stays denied in this round. There is an exception to the
// use of outdated answers. If the limit maxRefused is reached in the current hour, a job stays denied even if an
// outdated answer admits the job. After a round in which a dry run got no answer, the controller sends no dry runs for
// some time (see silentPause). After this pause, the controller continues with the job whose name comes next. A job
// whose dry run got no answer gets another dry run later.
func (r *round) dropWarnings(ctx context.Context) {
	a := &r.state.answers
	maps.DeleteFunc(a.jobs, func(name string, _ answer) bool { return r.denied[name] == "" })
	if age := r.now.Sub(a.hour); age < 0 || age >= maxUnchecked {
		a.hour, a.asked, a.refused = r.now, 0, 0
	}
	if a.sync != r.state.sync {
		a.sync, a.refused, a.pause = r.state.sync, 0, time.Time{}
	}
	r.askAll(ctx)
	for _, job := range r.commit.tree.Jobs {
		if r.denied[job.Name()] == "" {
			continue
		}
		switch found := a.jobs[job.Name()]; {
		case found.job != jobDigest(job):
		case found.admitted && (r.isCurrent(found) || a.refused < maxRefused):
			delete(r.denied, job.Name())
		case found.reason != "":
			r.denied[job.Name()] = found.reason
		}
	}
}

// isCurrent returns true if two conditions are met: the answer is less than an hour old, and no user
// has requested a fetch since the answer.
func (r *round) isCurrent(found answer) bool {
	age := r.now.Sub(found.at)
	return found.sync == r.state.sync && age >= 0 && age < maxUnchecked
}

// askAll sends a dry run for each job that needs a dry run, until a limit is reached.
func (r *round) askAll(ctx context.Context) {
	a, silent := &r.state.answers, 0
	if left := a.pause.Sub(r.now); left > 0 && left <= silentPause { // a longer pause means that the clock was set back
		return
	}
	defer func() {
		if silent > 0 {
			a.pause = r.now.Add(silentPause)
		}
	}()
	for i, job := range r.unanswered() {
		if a.refused >= maxRefused || silent >= maxSilent || i >= maxAsked || a.asked >= maxAskedInHour {
			return
		}
		a.asked++
		a.last = job.Name()
		if !r.ask(ctx, job) {
			silent++
		}
	}
}

// needsDryRuns returns true if two conditions are met: at least one denied job needs a dry run, and the limit
// maxRefused is not reached.
func (r *round) needsDryRuns() bool {
	return r.state.answers.refused < maxRefused && len(r.unanswered()) > 0
}

// unanswered lists the denied jobs that need a dry run: jobs without an answer, jobs that changed in Git since the answer,
// and jobs with an outdated answer. The API server's answer to a dry run becomes outdated after an hour, or when a user
// requests a fetch.
//
// The list consists of two parts, and each part is sorted by name. The first part contains the jobs whose names come
// after the name of the job that got the latest dry run. The second part contains all other jobs. Therefore every job
// gets a dry run sooner or later, even if many jobs are refused or get no answer.
func (r *round) unanswered() (jobs []decode.Job) {
	var last []decode.Job
	for _, job := range r.commit.tree.Jobs { // sorted by name
		if r.denied[job.Name()] == "" {
			continue
		}
		known := r.state.answers.jobs[job.Name()]
		switch {
		case r.isCurrent(known) && known.job == jobDigest(job):
		case job.Name() > r.state.answers.last:
			jobs = append(jobs, job)
		default:
			last = append(last, job)
		}
	}
	return append(jobs, last...)
}

// ask sends a dry run to the API server, to find out whether the API server admits a job. The dry run uses the
// ServiceAccount of the tenant. The method stores the answer of the API server. If there was no answer, the method
// returns false. The API server evaluates the admission rules before it checks the quota, and before it checks whether
// the name of the job is in use. If the API server refuses a job because of the quota, or because the name is in use,
// the rules have therefore admitted this job. In both cases, the method stores that the job is admitted.
func (r *round) ask(ctx context.Context, job decode.Job) bool {
	c, err := r.Rounds.TrainJobs(r.source.Namespace, r.source.Spec.ServiceAccountName)
	if err != nil {
		return false
	}
	found := answer{job: jobDigest(job), sync: r.state.sync, at: r.now}
	err = c.Create(ctx, job.Object.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	switch {
	case err == nil || apierrors.IsAlreadyExists(err) || reconcile.IsOverQuota(err) || hasNoDryRun(err):
		found.admitted = true
	case isDeniedByRules(err):
		r.state.answers.refused++
	case isRefusal(err):
		found.reason = strings.ToValidUTF8(err.Error()[:min(len(err.Error()), maxReason)], "")
		r.state.answers.refused++
	default:
		return false
	}
	if r.state.answers.jobs == nil {
		r.state.answers.jobs = map[string]answer{}
	}
	r.state.answers.jobs[job.Name()] = found
	return true
}

// jobDigest returns a digest of a job in Git.
func jobDigest(job decode.Job) [sha256.Size]byte {
	text, _ := json.Marshal(job.Object.Object) // it cannot fail, because the fields were decoded from JSON or YAML
	return sha256.Sum256(text)
}

// isDeniedByRules reports whether an error says that the rules of trainyard deny an object. The message of such an error
// contains the name of a ValidatingAdmissionPolicy of trainyard. The CUE package policies/admission sets this name.
func isDeniedByRules(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'trainyard-")
}

// hasNoDryRun reports whether a dry run failed because an admission webhook does not support dry runs. In this case, only
// the real creation of the TrainJob shows whether the API server admits the TrainJob. The text of the error comes from
// errors/statuserror.go in the package admission/plugin/webhook of the API server.
func hasNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// isRefusal reports whether an error is permanent: if the same object is sent again, the API server refuses it again.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsForbidden(err)
}
