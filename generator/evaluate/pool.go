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

// The following constants limit the number of evaluators that work at the same time. Each additional evaluator has
// three costs. First, the CPU time for the same work rises by a sixth. Second, the evaluator needs about 25 MB of
// memory. Third, the evaluator occupies a processor that the garbage collector could otherwise use. An additional
// evaluator is worthwhile only if it saves about half a second.
const (
	maxEvaluators  = 8
	runtimesToFill = 300 // each additional evaluator requires this number of runtimes, counted in all environments
)

// Pool lends evaluators to goroutines. If all loaded evaluators are in use, it loads another one.
type Pool struct {
	definitions fs.FS
	mutex       sync.Mutex
	idle        []*Evaluator
}

// NewPool returns a pool of evaluators, which load their CUE from the given files.
func NewPool(definitions fs.FS) *Pool { return &Pool{definitions: definitions} }

// Each is the method of Pool that calls the function "do" once for every number from 0 to n-1. The argument "runtimes"
// is the number of runtimes in all environments. If this number is at least runtimesToFill, the calls can run in
// parallel, with several evaluators. When the context is done, the method Each starts no more calls of "do". The method
// then returns without waiting for calls that still run.
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
		return ctx.Err() // running calls continue, because CUE cannot be interrupted, but nobody uses their results
	}
}

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

func (p *Pool) give(e *Evaluator) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.idle = append(p.idle, e)
}
