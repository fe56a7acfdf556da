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
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	"golang.org/x/sync/errgroup"
)

// engine is our CUE in a context of its own. It is for one goroutine: reading a
// value may finish what others are made of.
type engine struct {
	context     *cue.Context
	files       fs.FS
	definitions cue.Value // generator/*.cue, which documents are filled into
	schema      cue.Value // what a document may be

	instances map[string]*build.Instance // those of packages that have been loaded
	packages  map[string]cue.Value       // those that have been built
	mappings  map[string]keys            // those of definitions, which are asked for again and again
	about     *policies                  // once they have been read
}

// The packages of our CUE that Go asks. Filling in a document evaluates the whole first one again,
// so that it has nothing which does not depend on documents.
const (
	rulesPackage  = "."
	makersPackage = "./makers"
	teamsPackage  = "./teams"  // for documents with tenants
	boardsPackage = "./boards" // for documents with dashboards

	observePackage = "./observe" // for documents with rules for Prometheus
)

// fill gives our CUE what is sound of a document.
func (e *engine) fill(document map[string]any) cue.Value {
	return e.definitions.FillPath(cue.Path{}, map[string]any{"document": document, "listed": listed(document)})
}

// keys are those that a schema names.
type keys struct {
	known    map[string]cue.Value
	required []string // in the schema's order
}

// keysOf lists the keys of a mapping's schema.
func (e *engine) keysOf(schema cue.Value) keys {
	_, definition := schema.ReferencePath()
	if found, ok := e.mappings[definition.String()]; ok {
		return found
	}
	read := keys{known: map[string]cue.Value{}}
	for fields := fieldsOf(schema); fields.Next(); {
		key := fields.Selector().Unquoted()
		read.known[key] = fields.Value()
		if fields.Selector().ConstraintType() == cue.RequiredConstraint {
			read.required = append(read.required, key)
		}
	}
	if len(definition.Selectors()) > 0 {
		e.mappings[definition.String()] = read
	}
	return read
}

// newEngine loads our CUE, which takes some 15 ms. Nearly all documents need the first two
// packages, and loaded together they share what both import.
func newEngine(definitions fs.FS) (*engine, error) {
	e := &engine{
		context: cuecontext.New(), files: definitions,
		instances: map[string]*build.Instance{}, packages: map[string]cue.Value{}, mappings: map[string]keys{},
	}
	e.load(rulesPackage, makersPackage)
	var err error
	if e.definitions, err = e.built(rulesPackage); err != nil {
		return nil, err
	}
	e.schema = e.definitions.LookupPath(schemaPath)
	return e, nil
}

func (e *engine) load(packages ...string) {
	for i, instance := range load.Instances(packages, &load.Config{FS: e.files, Dir: "/generator"}) {
		e.instances[packages[i]] = instance
	}
}

// built is a package of our CUE, which is loaded and built when it is first asked for.
func (e *engine) built(name string) (cue.Value, error) {
	if v, ok := e.packages[name]; ok {
		return v, nil
	}
	if e.instances[name] == nil {
		e.load(name)
	}
	if err := e.instances[name].Err; err != nil {
		return cue.Value{}, fmt.Errorf("loading definitions: %w", err)
	}
	v := e.context.BuildInstance(e.instances[name])
	if err := v.Err(); err != nil {
		return cue.Value{}, fmt.Errorf("building definitions: %w", err)
	}
	e.packages[name] = v
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
// the same work, and some 10 MB: it has to save about half a second.
const (
	maxEngines = 8
	enough     = 100 // runtimes in all environments, for each engine beyond the first
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
