package trainjob

import (
	"context"
	"fmt"
	"sync"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

const (
	// explainers is the number of workers that search for the causes of failures and long waits. A single worker would
	// be too slow, because reading a log from a lost cluster node takes ten seconds.
	explainers = 4
	// explainInterval is the delay before the controller explains a waiting TrainJob a second time. The delay doubles
	// after each explanation, up to maxExplainInterval. Explanations are expensive, because each explanation reads all
	// events of a namespace.
	explainInterval    = 5 * time.Minute
	maxExplainInterval = time.Hour
	// maxAttempts is the maximum number of attempts to explain a failure, and attemptInterval is the time between two
	// attempts. Several attempts are necessary, because the events and the logs can be incomplete right after a failure.
	maxAttempts     = 3
	attemptInterval = 10 * time.Second
)

// Explainer says why a TrainJob failed, does not start or does not end. jobs.Jobs implements Explainer.
type Explainer interface {
	Explain(ctx context.Context, key types.NamespacedName) (jobs.Explanation, error)
}

// explanations holds the explanations of TrainJobs, and a queue of TrainJobs that need an
// explanation. Workers explain the TrainJobs in the background, so that slow reads of logs do not
// delay the controller.
type explanations struct {
	explainer Explainer
	now       func() time.Time
	queue     workqueue.TypedDelayingInterface[types.NamespacedName]
	changed   chan event.GenericEvent // the TrainJobs with new explanations

	lock  sync.Mutex
	found map[types.NamespacedName]explanation
}

// explanation is a record about one TrainJob in one phase. The record describes the attempts to find out why the
// TrainJob is in this phase, and contains the cause if the cause is known.
type explanation struct {
	uid      types.UID
	phase    jobs.Phase
	attempts int
	// finished is true if the cause is known, or if maxAttempts attempts have been made.
	finished bool
	// "at" is the time of the last explanation, and "interval" is the delay until the next
	// explanation.
	at       time.Time
	interval time.Duration
	cause    *jobs.Cause
}

func newExplanations(explainer Explainer, now func() time.Time) *explanations {
	return &explanations{
		explainer: explainer, now: now, found: map[types.NamespacedName]explanation{}, changed: make(chan event.GenericEvent),
		queue: workqueue.NewTypedDelayingQueue[types.NamespacedName](),
	}
}

// get returns the most probable cause of a TrainJob's state, or nil if no cause is known. The result "finished" is true
// if the search for the cause has ended. The field "queue" contains the TrainJobs that need an explanation. Workers
// take TrainJobs from this queue, and search for the causes. If the search for the cause of the given phase has not
// begun yet, the method adds the TrainJob to this queue. If the TrainJob has not failed, and its last explanation is
// too old, the method adds the TrainJob to the queue again.
func (e *explanations) get(job *trainer.TrainJob, phase jobs.Phase) (cause *jobs.Cause, finished bool) {
	key := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	e.lock.Lock()
	defer e.lock.Unlock()
	known, ok := e.found[key]
	switch {
	case !ok || known.uid != job.UID || known.phase != phase:
		known = explanation{uid: job.UID, phase: phase}
		e.found[key] = known
		e.queue.Add(key)
	case known.finished && phase != jobs.Failed && e.now().Sub(known.at) >= known.interval:
		e.queue.Add(key)
	}
	return known.cause, known.finished
}

func (e *explanations) forget(key types.NamespacedName) {
	e.lock.Lock()
	defer e.lock.Unlock()
	delete(e.found, key)
}

// Start runs several workers until the context ends. The workers take TrainJobs from the field "queue", and call the
// method "explain" for each of these TrainJobs.
func (e *explanations) Start(ctx context.Context) error {
	return work(ctx, e.queue, explainers, e.explain)
}

// explain finds out why one TrainJob is in its phase. Then it requests a reconciliation of the
// TrainJob, in which the controller reports the result.
func (e *explanations) explain(ctx context.Context, key types.NamespacedName) {
	wanted := e.wanted(key)
	explained, err := e.ask(ctx, key)
	if apierrors.IsNotFound(err) || ctx.Err() != nil {
		return
	}
	if !e.store(key, wanted, explained, err) {
		e.queue.AddAfter(key, attemptInterval)
	}
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	select {
	case e.changed <- event.GenericEvent{Object: job}:
	case <-ctx.Done():
	}
}

// ask calls the Explainer for a TrainJob, and converts a panic of the Explainer to an error. Otherwise an unexpected
// text in a log could stop the controller.
func (e *explanations) ask(ctx context.Context, key types.NamespacedName) (explained jobs.Explanation, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("explaining the TrainJob: panic: %v", cause)
			log.FromContext(ctx).Error(err, "this is a bug", "trainjob", key)
		}
	}()
	return e.explainer.Explain(ctx, key)
}

// wanted is a method that returns the entry of a TrainJob in the map e.found. The entry contains a UID and a phase. The
// TrainJob had this UID and this phase when its explanation was requested.
func (e *explanations) wanted(key types.NamespacedName) explanation {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.found[key]
}

// store saves the result of an attempt to explain a TrainJob. The returned value is true if no further attempt is
// needed. If the TrainJob has reached another phase in the meantime, the result is discarded, and the controller
// requests a new explanation.
func (e *explanations) store(key types.NamespacedName, wanted explanation, explained jobs.Explanation, err error) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	known, ok := e.found[key]
	switch {
	case !ok || known.uid != wanted.uid || known.phase != wanted.phase:
		return true
	case err == nil && explained.Phase != wanted.phase:
		delete(e.found, key)
		return true
	}
	e.found[key] = known.with(explained, err, e.now())
	return e.found[key].finished
}

// with(explained, err, now) returns a changed copy of the explanation e. The copy takes into account the result of the
// latest attempt to explain the TrainJob. The arguments "explained" and "err" are this result. If "explained" contains
// no cause, and "err" is not nil, the copy keeps the cause that an earlier attempt found.
func (e explanation) with(explained jobs.Explanation, err error, now time.Time) explanation {
	e.attempts++
	e.at = now
	if len(explained.Causes) > 0 {
		e.cause = &explained.Causes[0]
	} else if err == nil {
		e.cause = nil
	}
	complete := err == nil && len(explained.Missing) == 0 && e.cause != nil && e.cause.Level == diagnosis.Cause
	e.finished = complete || e.attempts >= maxAttempts
	if e.finished {
		e.interval = min(max(explainInterval, 2*e.interval), maxExplainInterval)
	}
	return e
}
