package jobs

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// waitInterval is the time after which Wait reads a TrainJob again and calls "done", even if no change was
	// reported. Some changes are never reported. Wait watches the TrainJob and its pods, but not the events and logs
	// that the function "done" may read. If the user has no permission to watch the TrainJob or its pods, Wait receives
	// no reports about them.
	waitInterval = time.Second
	// watchInterval is the time between the end of a watch and the start of the next watch.
	watchInterval = time.Second
	// settleTime is the delay between a reported change and the next read of the TrainJob by the method Wait. Several
	// pods often change during this delay, and one read then shows all changes.
	settleTime = 100 * time.Millisecond
)

// Wait reads a TrainJob and its pods after each change, until the function "done" returns true or an error, or until the context
// ends. Wait retries if the API server does not respond.
func (j Jobs) Wait(ctx context.Context, key types.NamespacedName, done func(Snapshot) (bool, error)) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes := j.watch(watching, key)
	for {
		snapshot, err := j.Get(ctx, key)
		if err != nil && !IsRetryable(err) {
			return err
		}
		if err == nil {
			if stop, err := done(snapshot); stop || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for TrainJob %s: %w", key, context.Cause(ctx))
		case <-changes:
			time.Sleep(settleTime)
		case <-time.After(waitInterval):
		}
	}
}

// watch watches a TrainJob and its pods until the context ends. The returned channel receives a value after a
// change.
func (j Jobs) watch(ctx context.Context, key types.NamespacedName) <-chan struct{} {
	changes := make(chan struct{}, 1)
	go notify(ctx, changes, func() *rest.Request {
		return j.trainer.Get().Namespace(key.Namespace).Resource("trainjobs").Param("fieldSelector", "metadata.name="+key.Name)
	})
	go notify(ctx, changes, func() *rest.Request {
		return j.core.Get().Namespace(key.Namespace).Resource("pods").Param("labelSelector", JobSetLabel+"="+key.Name)
	})
	return changes
}

// notify watches objects until the context ends. After each change, notify sends a value to the channel "changes". If
// the channel still contains the value for an earlier change, notify sends no second value. The argument "request" is a
// function that creates a list request for the objects. If the user has no permission to watch the objects, notify
// returns at once.
func notify(ctx context.Context, changes chan<- struct{}, request func() *rest.Request) {
	for ctx.Err() == nil {
		events, err := request().Param("watch", "true").Watch(ctx)
		if apierrors.IsForbidden(err) {
			return
		}
		if err == nil {
			for range events.ResultChan() {
				select {
				case changes <- struct{}{}:
				default: // Wait has not read the previous change yet
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchInterval):
		}
	}
}
