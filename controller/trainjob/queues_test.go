package trainjob

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs"
)

type countingReader struct {
	jobs.Reader
	reads int
}

func (r *countingReader) Workloads(context.Context, string) (map[types.UID]jobs.Workload, error) {
	r.reads++
	return map[types.UID]jobs.Workload{"1": {Name: "w"}}, nil
}

// TestWorkloadsAreShared checks that the Workloads of a namespace are read at most once in queueInterval. The method
// "forget" removes the Workloads of a namespace from the cache. The next call of the method "Workloads" must then read
// these Workloads again.
func TestWorkloadsAreShared(t *testing.T) {
	now, reader := start, &countingReader{}
	q := newQueues(reader, func() time.Time { return now })
	for i, step := range []struct {
		namespace string
		later     time.Duration
		forget    bool
		reads     int
	}{
		{"a", 0, false, 1}, {"a", time.Second, false, 1}, {"b", 0, false, 2}, {"a", queueInterval, false, 3}, {"a", 0, true, 4}, {"a", 2 * unusedTime, false, 5},
	} {
		now = now.Add(step.later)
		if step.forget {
			q.forget(step.namespace)
		}
		all, err := q.Workloads(t.Context(), step.namespace)
		if err != nil || len(all) != 1 || reader.reads != step.reads {
			t.Errorf("step %d: %d reads, %v (%v), want %d reads", i, reader.reads, all, err, step.reads)
		}
	}
	if _, ok := q.namespaces["b"]; ok {
		t.Error("the Workloads of an unused namespace are kept")
	}
}
