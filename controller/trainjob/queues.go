package trainjob

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs"
)

const (
	// queueInterval is the age at which cached Workloads are read again. Workloads are cached because each read
	// fetches all Workloads of a namespace.
	queueInterval = 5 * time.Second
	// queueTimeout is the maximum time to read the Workloads of a namespace.
	queueTimeout = 10 * time.Second
	// unusedTime is the time for which Workloads of a namespace stay in the cache if nobody reads them.
	unusedTime = 10 * time.Minute
)

// queues is a Reader that caches the Workloads of each namespace. A Workload is Kueue's object for a TrainJob in a
// queue.
type queues struct {
	jobs.Reader
	now func() time.Time

	lock       sync.Mutex
	namespaces map[string]workloads
}

// workloads holds the cached Workloads of one namespace.
type workloads struct {
	read time.Time // the time at which the last read began
	all  map[types.UID]jobs.Workload
	err  error
}

func newQueues(reader jobs.Reader, now func() time.Time) *queues {
	return &queues{Reader: reader, now: now, namespaces: map[string]workloads{}}
}

// Workloads returns the Workloads of a namespace. If the cached Workloads are at least queueInterval old, the method
// reads the Workloads from the API server. While one caller reads, other callers get the previous result, or nothing if
// the cache contains no previous result.
func (q *queues) Workloads(ctx context.Context, namespace string) (map[types.UID]jobs.Workload, error) {
	now := q.now()
	q.lock.Lock()
	known := q.namespaces[namespace]
	isFresh := now.Sub(known.read) < queueInterval
	if !isFresh {
		q.namespaces[namespace] = workloads{now, known.all, known.err}
		maps.DeleteFunc(q.namespaces, func(_ string, w workloads) bool { return now.Sub(w.read) > unusedTime })
	}
	q.lock.Unlock()
	if isFresh {
		return known.all, known.err
	}
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	all, err := q.Reader.Workloads(ctx, namespace)
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.namespaces[namespace].read.Equal(now) { // neither forget nor a later read has replaced the entry
		q.namespaces[namespace] = workloads{now, all, err}
	}
	return all, err
}

// forget removes the Workloads of a namespace from the cache, so that the next call of the method
// Workloads reads them from the API server. The controller calls forget after it has changed a Workload.
func (q *queues) forget(namespace string) {
	q.lock.Lock()
	defer q.lock.Unlock()
	delete(q.namespaces, namespace)
}
