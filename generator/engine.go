package generator

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"golang.org/x/sync/errgroup"
)

// engine is our CUE in a context of its own. It is for one goroutine: reading a
// value may finish what others are made of.
type engine struct {
	context     *cue.Context
	sources     *sources
	definitions cue.Value // generator/*.cue, which documents are filled into
	schema      cue.Value // what a document may be

	packages map[string]cue.Value // those that have been built
	reads    map[maker]reads      // those that have been read
	mappings map[string]keys      // those of definitions, which are asked for again and again
	traits   map[cue.Value]traits // of the fields of these mappings
	asked    cue.Value            // what traitsOf was asked for last
	told     traits               // and what it said
	samples  map[string][]any     // that fit a field, by its name
	about    *policies            // once they have been read
}

// The packages of our CUE that Go asks. Filling in a document evaluates the whole first one again,
// so that it has nothing which does not depend on documents.
const (
	rulesPackage  = "generator"
	makersPackage = "generator/makers"
	teamsPackage  = "generator/teams"  // for documents with tenants
	boardsPackage = "generator/boards" // for documents with dashboards

	observePackage = "generator/observe" // for documents with rules for Prometheus
)

// fill gives our CUE what is sound of a document.
func (e *engine) fill(document map[string]any) cue.Value {
	return e.definitions.FillPath(cue.Path{}, map[string]any{"document": document, "listed": listed(document)})
}

// newEngine loads what nearly all documents need, which takes some 15 ms.
func newEngine(definitions fs.FS) (*engine, error) { return engineOf(definitions, rulesPackage) }

// engineOf loads the package that documents of a kind are filled into.
func engineOf(definitions fs.FS, name string) (*engine, error) {
	e := &engine{
		context: cuecontext.New(), sources: newSources(definitions),
		packages: map[string]cue.Value{}, reads: map[maker]reads{}, mappings: map[string]keys{}, traits: map[cue.Value]traits{}, samples: map[string][]any{},
	}
	var err error
	if e.definitions, err = e.built(name); err != nil {
		return nil, err
	}
	e.schema = e.definitions.LookupPath(schemaPath)
	return e, nil
}

// built is a package of our CUE, which is loaded and built when it is first asked for.
func (e *engine) built(name string) (cue.Value, error) {
	if v, ok := e.packages[name]; ok {
		return v, nil
	}
	instance, err := e.sources.instance(name)
	if err != nil {
		return cue.Value{}, fmt.Errorf("loading definitions: %w", err)
	}
	v := e.context.BuildInstance(instance)
	if err := v.Err(); err != nil {
		return cue.Value{}, fmt.Errorf("building definitions: %w", err)
	}
	e.packages[name] = v
	return v, nil
}

// maker finds one in our CUE.
func (e *engine) maker(by maker) (cue.Value, error) {
	v, err := e.built(by.by)
	if err != nil {
		return cue.Value{}, err
	}
	if v = v.LookupPath(cue.MakePath(cue.Str(by.kind), cue.Str(by.name))); !v.Exists() {
		return cue.Value{}, fmt.Errorf("there is no %s among %s", by.name, by.kind)
	}
	return v, nil
}

// engines are those that are not in use. More are loaded as work asks for them.
type engines struct {
	definitions fs.FS
	mutex       sync.Mutex
	idle        []*engine
}

// take returns an engine for the caller alone.
func (e *engines) take() (*engine, error) {
	if taken := e.takeIdle(); taken != nil {
		return taken, nil
	}
	return newEngine(e.definitions)
}

func (e *engines) takeIdle() *engine {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	last := len(e.idle) - 1
	if last < 0 {
		return nil
	}
	taken := e.idle[last]
	e.idle = e.idle[:last]
	return taken
}

// give makes an engine available to others.
func (e *engines) give(used *engine) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.idle = append(e.idle, used)
}

// Bounds on how many engines work at a time. Another one takes a sixth more CPU for
// the same work, and some 25 MB, and the garbage collector has the other processors
// to itself meanwhile: it has to save about half a second.
const (
	maxEngines = 8
	enough     = 300 // runtimes in all environments, for each engine beyond the first
)

// share does do(0) to do(n-1), on as many engines at a time as there are
// processors, if the work is enough for them: weight is how many runtimes it has.
// It ends early when the context does; what has been started may then still write.
func (e *engines) share(ctx context.Context, n, weight int, do func(on *engine, i int)) error {
	var next atomic.Int64
	var g errgroup.Group
	for range min(n, runtime.GOMAXPROCS(0), maxEngines, 1+weight/enough) {
		g.Go(func() error {
			return e.use(func(on *engine) {
				for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
					do(on, i)
				}
			})
		})
	}
	done := make(chan error, 1)
	go func() { done <- g.Wait() }()
	select {
	case err := <-done:
		return cmp.Or(err, ctx.Err())
	case <-ctx.Done():
		return ctx.Err() // CUE cannot be interrupted, and nobody waits for it any more
	}
}

// use does something with an engine.
func (e *engines) use(do func(on *engine)) error {
	on, err := e.take()
	if err != nil {
		return err
	}
	defer e.give(on)
	do(on)
	return nil
}
