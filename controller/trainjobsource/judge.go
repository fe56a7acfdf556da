package trainjobsource

import (
	"context"
	"fmt"
	"strings"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
	"github.com/trainyard/trainyard/policies/guard"
)

// judge evaluates the platform's admission rules on all TrainJobs in Git. The API server evaluates the same rules, but only
// when a TrainJob is created. judge reports a violation while the job still waits, and names the file and the line.
func (r *round) judge(ctx context.Context) bool {
	rules, err := r.readRules(ctx)
	if err != nil {
		return r.fail(failure{reason: v1alpha1.ReasonApplyFailed, message: err.Error()})
	}
	r.denied = map[string]string{}
	if rules == nil {
		return true
	}
	for _, job := range r.commit.tree.Jobs {
		if message := rules.denial(job); message != "" {
			r.denied[job.Name()] = message
		}
	}
	r.dropWarnings(ctx)
	return true
}

// answers contains the results of dry runs, in which the controller asks the API server about jobs that the rules deny. The
// controller asks again after an hour, for each new commit, and when a user requests a fetch.
type answers struct {
	commit  weak.Pointer[commit]
	sync    string // the annotation trainyard.dev/sync at the time of the questions
	at      time.Time
	jobs    map[string]answer // by the name of the job
	refused int               // the number of jobs that the API server refuses
	last    string            // the name of the job of the last dry run
}

// answer is the answer of the API server about a job that the rules deny.
type answer struct {
	admitted bool   // the rules only warn, or only write into the audit log (spec.admission.enforce)
	reason   string // why the API server refuses the job, if not because of the rules
}

const (
	// maxRefused limits the dry runs in an hour: after the API server has refused this number of jobs, all further jobs that the
	// rules deny count as denied. In the next hour, the controller asks about these jobs first.
	maxRefused = 20
	// maxSilent is the number of dry runs without an answer after which a round sends no more dry runs.
	maxSilent = 3
)

// dropWarnings removes the jobs from r.denied that the API server admits in a dry run. Some dry runs get no answer, for example because a
// webhook is not available. Their jobs stay denied in this round, and the next round continues with the jobs after them.
func (r *round) dropWarnings(ctx context.Context) {
	a := &r.state.answers
	if age := r.now.Sub(a.at); a.commit != weak.Make(r.commit) || a.sync != r.state.sync || age < 0 || age >= maxUnchecked {
		*a = answers{commit: weak.Make(r.commit), sync: r.state.sync, at: r.now, jobs: map[string]answer{}, last: a.last}
	}
	silent := 0
	for _, job := range r.unanswered() {
		if a.refused >= maxRefused || silent >= maxSilent {
			break
		}
		if !r.ask(ctx, job) {
			silent++
		}
		a.last = job.Name()
	}
	for name := range r.denied {
		switch found := a.jobs[name]; {
		case found.admitted:
			delete(r.denied, name)
		case found.reason != "":
			r.denied[name] = found.reason
		}
	}
}

// unanswered returns the denied jobs whose dry run has no answer yet. It begins with the job after the last dry run, and continues with
// the first job after the end of the list. So all jobs get a dry run in turn, although many of them may be refused or get no answer.
func (r *round) unanswered() (jobs []decode.Job) {
	var last []decode.Job
	for _, job := range r.commit.tree.Jobs { // sorted by name
		_, known := r.state.answers.jobs[job.Name()]
		switch {
		case r.denied[job.Name()] == "" || known:
		case job.Name() > r.state.answers.last:
			jobs = append(jobs, job)
		default:
			last = append(last, job)
		}
	}
	return append(jobs, last...)
}

// ask asks the API server in a dry run whether it admits a job, as the ServiceAccount of the tenant. It stores the answer, and returns
// false if the API server gave no answer. The API server evaluates the admission rules before it checks the quota and the name. An exceeded quota or an
// existing name therefore shows that the rules admit the job.
func (r *round) ask(ctx context.Context, job decode.Job) bool {
	c, err := r.Rounds.TrainJobs(r.source.Namespace, r.source.Spec.ServiceAccountName)
	if err != nil {
		return false
	}
	a := &r.state.answers
	err = c.Create(ctx, job.Object.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	switch {
	case err == nil || apierrors.IsAlreadyExists(err) || reconcile.IsOverQuota(err) || hasNoDryRun(err):
		a.jobs[job.Name()] = answer{admitted: true}
		return true
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"):
		a.jobs[job.Name()] = answer{}
	case isRefusal(err):
		a.jobs[job.Name()] = answer{reason: err.Error()}
	default:
		return false
	}
	a.refused++
	return true
}

// hasNoDryRun reports whether an admission webhook supports no dry run. Only the creation of the TrainJob shows then whether the API
// server admits it. The text is from errors/statuserror.go of the API server's package admission/plugin/webhook.
func hasNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// isRefusal reports whether the API server would refuse the same object again for a reason other than the admission rules.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsForbidden(err) && strings.Contains(err.Error(), "admission webhook")
}

// rules are the admission rules of a tenant.
type rules struct {
	reader     guard.Reader
	parameters guard.Parameters
	user       string // the ServiceAccount that creates the TrainJobs
}

// readRules reads the admission rules of the namespace from a ConfigMap. It returns nil if the namespace has no rules: the
// namespace does not belong to a tenant, or the platform has no admission rules.
func (r *round) readRules(ctx context.Context) (*rules, error) {
	parameters := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: v1alpha1.TenantObjectName(r.source.Namespace)}
	if err := r.Reader.Get(ctx, key, parameters); apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there are no rules, which is no error
	} else if err != nil {
		return nil, fmt.Errorf("reading the rules for namespace %s: %w", r.source.Namespace, err)
	}
	read, err := guard.ReadParameters(parameters.Data)
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	reader, err := guard.ReaderFor(parameters.Data["trainer"])
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	return &rules{reader, read, userName(r.source.Namespace, r.source.Spec.ServiceAccountName)}, nil
}

// denial returns why a job is denied, or an empty string if it is allowed.
func (r *rules) denial(job decode.Job) string {
	denials, invalid := r.reader.Check(guard.Request{User: r.user, TrainJob: job.Object.Object}, r.parameters)
	var messages []string
	for _, err := range invalid {
		messages = append(messages, err.Error())
	}
	for _, d := range denials {
		messages = append(messages, d.String())
	}
	return strings.Join(messages, "; ")
}
