package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
}

// cleanUpPatience bounds cleaning up, which goes on after an interruption.
const cleanUpPatience = 30 * time.Second

// Run tries a runtime, and tells report of each check when it is decided, and of what it waits
// for whenever that changes. What the trial found is no error, and neither is too little time;
// errors are that the TrainJob could not be made or read, or that the trial was interrupted.
func Run(ctx context.Context, all jobs.Jobs, o Options, report func(Check)) (result Result, err error) {
	job := jobFor(o)
	result = Result{Runtime: o.Runtime.String(), Namespace: o.Namespace}
	t := &trial{jobs: all, options: o, began: time.Now(), report: report, checks: checksFor(o.Runtime)}
	if err := all.Submit(ctx, job); err != nil {
		return result, err
	}
	result.Job = job.Name
	defer func() { err = errors.Join(err, t.cleanUp(ctx, client.ObjectKeyFromObject(job))) }()
	err = t.follow(ctx, client.ObjectKeyFromObject(job))
	result.Seconds = seconds(time.Since(t.began))
	result.Checks, result.Passed, result.TimedOut = t.conclude(), t.passed(), t.timedOut
	return result, err
}

// trial is one that goes on.
type trial struct {
	jobs     jobs.Jobs
	options  Options
	began    time.Time
	report   func(Check)
	checks   []check
	said     string // of what the trial waits for
	timedOut bool
}

// errTimeout ends a trial whose time is over.
var errTimeout = errors.New("the time for the trial is over")

// follow looks at the job until all is decided.
func (t *trial) follow(ctx context.Context, key client.ObjectKey) error {
	bounded, cancel := context.WithTimeoutCause(ctx, t.options.Timeout, errTimeout)
	defer cancel()
	scene := &scene{trial: t, seen: map[string]jobs.Pod{}, logs: map[string]string{}, warned: map[string]string{}}
	err := t.jobs.Wait(bounded, key, func(view jobs.View) (bool, error) {
		if err := scene.look(bounded, view); err != nil {
			return false, err
		}
		return t.decide(scene), nil
	})
	// A call that is cut short by the end of time has an error of its own.
	if errors.Is(context.Cause(bounded), errTimeout) && ctx.Err() == nil {
		t.timedOut = true
		t.giveUp()
		return nil
	}
	return err
}

func (t *trial) cleanUp(ctx context.Context, key client.ObjectKey) error {
	if t.options.Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpPatience)
	defer cancel()
	if err := t.jobs.Delete(ctx, key); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	return nil
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
