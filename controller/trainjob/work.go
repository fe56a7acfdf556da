package trainjob

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// work calls the function "handle" for each entry of a queue, until the context ends. The argument "workers" is the maximum
// number of calls that run at the same time.
func work[T comparable](ctx context.Context, queue workqueue.TypedInterface[T], workers int, handle func(context.Context, T)) error {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				entry, stopped := queue.Get()
				if stopped {
					return
				}
				handle(ctx, entry)
				queue.Done(entry)
			}
		})
	}
	<-ctx.Done()
	queue.ShutDown()
	running.Wait()
	return nil
}
