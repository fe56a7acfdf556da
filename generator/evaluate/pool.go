package evaluate

import (
	"cmp"
	"context"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Bounds on how many evaluators work at a time. Another one takes a sixth more CPU for the same work and
// some 25 MB, and leaves the garbage collector no processor of its own: it must save about half a second.
const (
	maxEvaluators  = 8
	runtimesToFill = 300 // runtimes in all environments, for each evaluator after the first
)

// Pool lends evaluators. It loads more of them on demand.
type Pool struct {
	definitions fs.FS
	mutex       sync.Mutex
	idle        []*Evaluator
}

// NewPool returns a pool of evaluators of our CUE.
func NewPool(definitions fs.FS) *Pool { return &Pool{definitions: definitions} }

// Each calls do(0) to do(n-1), on several evaluators at a time where the number of runtimes makes that
// worthwhile. It returns when the context ends; calls that have been started may still be running then.
func (p *Pool) Each(ctx context.Context, n, runtimes int, do func(e *Evaluator, i int)) error {
	var next atomic.Int64
	var g errgroup.Group
	for range min(n, runtime.GOMAXPROCS(0), maxEvaluators, 1+runtimes/runtimesToFill) {
		g.Go(func() error {
			e, err := p.take()
			if err != nil {
				return err
			}
			defer p.give(e)
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(e, i)
			}
			return nil
		})
	}
	done := make(chan error, 1)
	go func() { done <- g.Wait() }()
	select {
	case err := <-done:
		return cmp.Or(err, ctx.Err())
	case <-ctx.Done():
		return ctx.Err() // CUE cannot be interrupted, and its results are not needed any more
	}
}

// take returns an evaluator for the caller alone.
func (p *Pool) take() (*Evaluator, error) {
	p.mutex.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		defer p.mutex.Unlock()
		taken := p.idle[last]
		p.idle = p.idle[:last]
		return taken, nil
	}
	p.mutex.Unlock()
	return New(p.definitions)
}

// give returns an evaluator to the pool.
func (p *Pool) give(e *Evaluator) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.idle = append(p.idle, e)
}
