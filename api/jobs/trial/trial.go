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

// Options say what to try.
type Options struct {
	// Runtime is what is tried.
	Runtime jobs.Runtime
	// Namespace is where the TrainJob runs.
	Namespace string
	// Nodes is how many nodes there are beside the launcher, at least 1.
	Nodes int32
	// Queue is the LocalQueue of Kueue that is to admit the TrainJob; empty for none.
	Queue string
	// Timeout bounds the trial, without cleaning up.
	Timeout time.Duration
	// Keep leaves the TrainJob where it is, for a look.
	Keep bool
}

// Result is what came of a trial.
type Result struct {
	// Runtime is the kind and name of what was tried.
	Runtime string `json:"runtime"`
	// Namespace and Job are where the TrainJob is, or was.
	Namespace string `json:"namespace"`
	Job       string `json:"job"`
	// Passed says that every check did that the runtime has.
	Passed bool `json:"passed"`
	// TimedOut says that the checks that did not pass were not decided in time.
	TimedOut bool `json:"timedOut"`
	// Seconds is how long it took, without cleaning up.
	Seconds float64 `json:"seconds"`
	// Checks are all, in their order.
	Checks []Check `json:"checks"`
	// Error is why the trial ended before all was decided, if it did.
	Error string `json:"error,omitempty"`
}

// cleanUpPatience bounds cleaning up, which goes on after an interruption.
const cleanUpPatience = 30 * time.Second

// cleanUpPause is how long an API server has that did not answer, until it is asked again.
const cleanUpPause = time.Second

// Run tries a runtime, and tells report of each check when it is decided, and of what it waits
// for whenever that changes. What the trial found is no error, and neither is too little time;
// errors are that the TrainJob could not be made or read, or that the trial was interrupted, and
// before anything is made an *UnfitError, or as Forbidden the first right that is missing.
func Run(ctx context.Context, all jobs.Jobs, o Options, report func(Check)) (result Result, err error) {
	job := jobFor(o)
	key := keyOf(job)
	bounded, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	result = Result{Runtime: o.Runtime.String(), Namespace: o.Namespace}
	t := &trial{jobs: all, options: o, began: time.Now(), looked: time.Now(), report: report, checks: checksFor(o.Runtime)}
	if err := fits(o.Runtime); err != nil {
		return result, err
	}
	if err := all.Demand(bounded, o.Namespace, jobs.FollowRights...); err != nil {
		return result, err
	}
	if err := all.Submit(bounded, job); err != nil {
		if jobs.Passing(err) { // it may have been made all the same
			err = errors.Join(err, t.cleanUp(ctx, key))
		}
		return result, err
	}
	result.Job = job.Name
	defer func() { err = errors.Join(err, t.cleanUp(ctx, key)) }()
	err = t.follow(bounded, key)
	result.Seconds = seconds(time.Since(t.began))
	result.Checks, result.Passed, result.TimedOut = t.conclude(), t.passed(), t.timedOut
	if err != nil {
		result.Error = err.Error()
	}
	return result, err
}

// trial is one that goes on.
type trial struct {
	jobs     jobs.Jobs
	options  Options
	began    time.Time
	report   func(Check)
	checks   []check
	said     string    // of what the trial waits for
	looked   time.Time // when the job was last seen
	timedOut bool
}

// errTimeout ends a trial whose time is over.
var errTimeout = errors.New("the time for the trial is over")

// follow looks at the job until all is decided.
func (t *trial) follow(ctx context.Context, key types.NamespacedName) error {
	scene := &scene{trial: t, seen: map[string]jobs.Pod{}, logs: map[string]string{}, warned: map[string]string{}}
	err := t.jobs.Wait(ctx, key, func(view jobs.View) (bool, error) {
		t.looked = time.Now()
		if err := scene.look(ctx, view); err != nil {
			return false, err
		}
		return t.decide(scene), nil
	})
	if errors.Is(err, errTimeout) {
		t.timedOut = true
		t.giveUp(scene.running(ctx))
		return nil
	}
	return err
}

func (t *trial) cleanUp(ctx context.Context, key types.NamespacedName) error {
	if t.options.Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpPatience)
	defer cancel()
	for {
		err := t.jobs.Delete(ctx, key)
		if err == nil {
			return nil
		}
		if !jobs.Passing(err) || ctx.Err() != nil {
			return fmt.Errorf("cleaning up: %w; delete it with kubectl -n %s delete trainjob %s", err, key.Namespace, key.Name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(cleanUpPause):
		}
	}
}

// hosts is how many of them run ranks.
func (t *trial) hosts() int {
	if t.options.Runtime.LauncherIsNode() {
		return int(t.options.Nodes) + 1
	}
	return int(t.options.Nodes)
}

func seconds(d time.Duration) float64 { return d.Round(100 * time.Millisecond).Seconds() }

// complete is the condition of a job that ended well.
const complete = trainer.TrainJobComplete
