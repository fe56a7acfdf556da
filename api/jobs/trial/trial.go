package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs"
)

// Options contains the settings of a trial, such as the runtime to test, the namespace and the
// timeout.
type Options struct {
	// Runtime is the runtime to test.
	Runtime jobs.Runtime
	// Namespace is the namespace of the TrainJob.
	Namespace string
	// Nodes is the number of nodes in addition to the launcher, at least 1.
	Nodes int32
	// Queue is the LocalQueue of Kueue that admits the TrainJob. Queue is empty if the TrainJob needs no queue.
	Queue string
	// Timeout is the maximum duration of the trial. The time for the cleanup is not included.
	Timeout time.Duration
	// Keep is true if the TrainJob must not be deleted at the end of the trial.
	Keep bool
}

// Result reports whether a runtime passed a trial, and contains the results of all checks.
type Result struct {
	// Runtime is the kind and name of the runtime.
	Runtime string `json:"runtime"`
	// Namespace and Job hold the namespace and the name of the TrainJob.
	Namespace string `json:"namespace"`
	Job       string `json:"job"`
	// Passed is true if every check of the runtime passed.
	Passed bool `json:"passed"`
	// TimedOut is true if Options.Timeout passed before all checks were decided.
	TimedOut bool `json:"timedOut"`
	// Seconds is the duration of the trial. The time for the cleanup is not included.
	Seconds float64 `json:"seconds"`
	// Checks contains all checks, in the order in which a TrainJob reaches these checks.
	Checks []Check `json:"checks"`
	// Error is the error that ended the trial early, if any.
	Error string `json:"error,omitempty"`
}

// cleanUpTimeout is the maximum duration of the cleanup. The cleanup also runs if the trial was interrupted.
const cleanUpTimeout = 30 * time.Second

// cleanUpInterval is the time between attempts to delete the TrainJob.
const cleanUpInterval = time.Second

// Run carries out one trial, which is a test of a runtime. Run calls the function "report" when a check passes or
// fails, and when a waiting check has a new reason to wait. Run returns an error if the TrainJob cannot be created,
// read or deleted, or if the context ends. A failed check, or a timeout after the creation of the TrainJob, is not an
// error. Run can also fail before it creates the TrainJob. If the runtime cannot be tested, the error is an
// *UnsupportedRuntimeError. If the user lacks a permission, the error is a Forbidden error. If the timeout passes
// before the TrainJob exists, the error is a DeadlineExceeded error.
func Run(ctx context.Context, all jobs.Jobs, o Options, report func(Check)) (result Result, err error) {
	job := newTrialJob(o)
	key := keyOf(job)
	bounded, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	result = Result{Runtime: o.Runtime.String(), Namespace: o.Namespace}
	defer func() { result.TimedOut = result.TimedOut || errors.Is(err, errTimeout) }()
	t := &trial{jobs: all, options: o, began: time.Now(), lastSeen: time.Now(), report: report, checks: listChecks(o.Runtime)}
	if err := requireSupport(o.Runtime); err != nil {
		return result, err
	}
	if err := all.RequireAccess(bounded, o.Namespace, jobs.FollowPermissions...); err != nil {
		return result, err
	}
	if err := all.Submit(bounded, job); err != nil {
		if jobs.IsRetryable(err) { // the API server may have created the TrainJob
			err = errors.Join(err, t.cleanUp(ctx, key))
		}
		return result, err
	}
	result.Job = job.Name
	defer func() { err = errors.Join(err, t.cleanUp(ctx, key)) }()
	err = t.follow(bounded, key)
	result.Seconds = seconds(time.Since(t.began))
	result.Checks, result.Passed, result.TimedOut = t.finalChecks(), t.passed(), t.timedOut
	if err != nil {
		result.Error = err.Error()
	}
	return result, err
}

// trial is the state of a running trial.
type trial struct {
	jobs     jobs.Jobs
	options  Options
	began    time.Time
	report   func(Check)
	checks   []check
	waiting  string    // last reported reason for waiting
	lastSeen time.Time // time of the last observation
	timedOut bool
}

// errTimeout is the cause with which a trial cancels its context when Options.Timeout has passed. Requests that were
// interrupted by the timeout return this error.
var errTimeout = fmt.Errorf("the trial timed out: %w", context.DeadlineExceeded)

// follow observes the TrainJob until all checks are decided.
func (t *trial) follow(ctx context.Context, key types.NamespacedName) error {
	o := &observation{trial: t, pods: map[string]jobs.Pod{}, logs: map[string]string{}, mountWarnings: map[string]string{}}
	err := t.jobs.Wait(ctx, key, func(snapshot jobs.Snapshot) (bool, error) {
		t.lastSeen = time.Now()
		if err := o.update(ctx, snapshot); err != nil {
			return false, err
		}
		return t.decide(o), nil
	})
	if errors.Is(err, errTimeout) {
		t.timedOut = true
		t.expire(o.runningMpirun(ctx))
		return nil
	}
	return err
}

func (t *trial) cleanUp(ctx context.Context, key types.NamespacedName) error {
	if t.options.Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	for {
		err := t.jobs.Delete(ctx, key)
		if err == nil {
			return nil
		}
		if !jobs.IsRetryable(err) || ctx.Err() != nil {
			return fmt.Errorf("cleaning up: %w: delete the TrainJob with kubectl -n %s delete trainjob %s", err, key.Namespace, key.Name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(cleanUpInterval):
		}
	}
}

// countHosts returns the number of hosts on which ranks run.
func (t *trial) countHosts() int {
	if t.options.Runtime.LauncherIsNode() {
		return int(t.options.Nodes) + 1
	}
	return int(t.options.Nodes)
}

func seconds(d time.Duration) float64 { return d.Round(100 * time.Millisecond).Seconds() }

// completeCondition is the condition of a TrainJob that succeeded.
const completeCondition = trainer.TrainJobComplete
