// Package generator turns a platform document into Kubernetes objects:
//
//	load → check → plan → compose → verify
//
// Each stage is a package that takes the result of the previous stage. Each stage returns a new result,
// except the verify stage, which only checks the objects. CUE definitions determine the content of
// objects, and Go code runs the stages.
//
// The check stage collects all problems that it finds in the user's input, and returns them as one problem.List. The
// verify stage compares the generated objects with the Go types of their upstream projects. If an object does not fit
// its Go type, trainyard itself has a mistake, and the verify stage returns a problem.FaultError.
package generator

import (
	"context"
	"io"
	"io/fs"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/compose"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/plan"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/schema"
	"github.com/trainyard/trainyard/generator/verify"
)

// Input is a platform document, or a layer of a platform document.
type Input = load.Input

// Request contains the layers of a document, and names the environments to generate.
type Request struct {
	Layers       []Input  // at least one; later layers override earlier ones
	Environments []string // all environments of the document if empty
	AllowImports bool     // whether documents in CUE can import packages of CUE's standard library
}

// Platform is the result of Generate for one environment.
type Platform struct {
	Name        string // the document's metadata.name
	Environment string // empty if the document has no environments
	Objects     object.Set
	Delivery    object.Delivery
	Position    problem.Position // position of spec.delivery, or of spec if the document does not set spec.delivery
	Capacity    *capacity.Result
	Sections    []string     // the runtimes and tenants of the document, such as runtime/mpi and tenant/team-a
	Notes       problem.List // remarks about valid input whose effect the author may not expect
}

// Pipeline generates objects from documents, with the definitions of one CUE module.
type Pipeline struct{ loader load.Loader }

// New returns a pipeline that uses the definitions of a CUE module, usually trainyard.CUE.
func New(definitions fs.FS) *Pipeline {
	return &Pipeline{load.Loader{Definitions: definitions}}
}

// EvaluateWith returns a copy of the pipeline that uses the given evaluator for documents in CUE. The evaluator
// can, for example, start a child process with limits on time and memory. Without EvaluateWith, the pipeline
// evaluates documents in CUE in the current process, without limits.
func (p *Pipeline) EvaluateWith(evaluator load.CUEEvaluator) *Pipeline {
	copied := *p
	copied.loader.CUE = evaluator
	return &copied
}

// WriteEvaluated evaluates a CUE document, and writes the result to w. WriteEvaluated runs in the child process that a
// load.CUEEvaluator starts.
func (p *Pipeline) WriteEvaluated(w io.Writer, input Input, allowImports bool) error {
	loader := p.loader
	loader.AllowImports = allowImports
	return loader.WriteEvaluated(w, input)
}

type documents struct {
	all      []*load.Document
	pool     *evaluate.Pool
	runtimes int // the number of environments, multiplied by the number of runtimes that all environments share
}

// Generate generates the objects of each environment. Generate returns the environments in the order of their names. If
// the document has problems, the error is a problem.List. The check stage may find problems in only some of the
// environments. In this case, Generate also returns a Platform for each environment without problems, but this Platform
// contains no objects. For an unknown environment, the error is a load.EnvironmentError. If the context is done before
// the objects are generated, the error can be the error of the context. Any other error is a fault, which is a mistake
// in trainyard itself.
func (p *Pipeline) Generate(ctx context.Context, request Request) ([]Platform, error) {
	d, err := p.load(ctx, request)
	if err != nil {
		return nil, err
	}
	return d.generate(ctx)
}

func (d *documents) generate(ctx context.Context) ([]Platform, error) {
	plans, err := d.plan(ctx)
	if err != nil {
		return platforms(plans, make([]object.Set, len(plans))), err
	}
	objects, errs, err := compose.Objects(ctx, d.pool, d.runtimes, plans)
	if err == nil {
		err = mergeProblems(d.all, errs)
	}
	if err == nil {
		err = checkDestinations(d.all, plans, objects)
	}
	if err != nil {
		return nil, err
	}
	if err := verify.Objects(objects...); err != nil {
		return nil, err
	}
	return platforms(plans, objects), nil
}

func (p *Pipeline) load(ctx context.Context, request Request) (*documents, error) {
	loader := p.loader
	loader.AllowImports = request.AllowImports
	source, err := loader.Load(ctx, request.Layers)
	if err != nil {
		return nil, err
	}
	all, err := source.Environments(request.Environments)
	return &documents{all, evaluate.NewPool(loader.Definitions), len(all) * source.Runtimes()}, err
}

// plan runs two stages on each document: the check stage, and then the plan stage. One evaluator
// runs both stages on a document, so that CUE evaluates the document only once.
func (d *documents) plan(ctx context.Context) ([]*plan.Plan, error) {
	plans := make([]*plan.Plan, len(d.all))
	err := d.check(ctx, func(e *evaluate.Evaluator, checked *check.Checked, i int) (err error) {
		plans[i], err = plan.New(e, checked)
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err() // a running evaluator can still write to plans
	}
	return plans, err
}

// check is the method that runs the check stage on each document. If a document has no problems, the method calls the
// function "do" for this document.
func (d *documents) check(ctx context.Context, do func(*evaluate.Evaluator, *check.Checked, int) error) error {
	var c check.Check
	errs := make([]error, len(d.all))
	err := d.pool.Each(ctx, len(d.all), d.runtimes, func(e *evaluate.Evaluator, i int) {
		checked, err := c.Document(e, d.all[i])
		if err == nil {
			err = do(e, checked, i)
		}
		errs[i] = err
	})
	if err != nil {
		return err
	}
	return mergeProblems(d.all, errs)
}

func platforms(plans []*plan.Plan, objects []object.Set) []Platform {
	var all []Platform
	for i, p := range plans {
		if p == nil {
			continue
		}
		all = append(all, Platform{
			Name: p.Name, Environment: p.Document.Environment, Objects: objects[i], Delivery: p.Delivery,
			Position: p.Document.Root.Locate("spec", "delivery"), Capacity: p.Capacity, Sections: p.Document.Sections(), Notes: p.Notes,
		})
	}
	return all
}

// Capacity returns the maximum number of nodes of a TrainJob, for each tenant and each runtime that the tenant lists.
// If spec.target.gang is kueue, each of these runtimes has one record for each LocalQueue of the tenant. A LocalQueue
// whose ClusterQueue is not in the document has no record. In two cases, a runtime has only one record, and this record
// names no queue. In the first case, the tenant has no LocalQueue whose ClusterQueue is in the document. In the second
// case, spec.target.gang is not kueue. If the document has problems, the error is a problem.List and the result is
// empty.
func (p *Pipeline) Capacity(ctx context.Context, request Request) ([]capacity.Record, error) {
	d, err := p.load(ctx, request)
	if err != nil {
		return nil, err
	}
	records := make([][]capacity.Record, len(d.all))
	err = d.check(ctx, func(_ *evaluate.Evaluator, checked *check.Checked, i int) error {
		records[i] = checked.Capacity.Records
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(records...), nil
}

// Source is the document of one environment with the origin of each value.
type Source struct {
	Environment string       `json:"environment,omitempty"` // empty if the document has no environments
	Values      []load.Value `json:"values"`
}

// Sources returns one Source for each environment that the request selects. If the document has no environments,
// Sources returns one Source. Each Source lists the values in the document of its environment, and the origin of each
// value. The document does not need to pass the check stage. The result does not include defaults, because defaults
// have no origin.
func (p *Pipeline) Sources(ctx context.Context, request Request) ([]Source, error) {
	d, err := p.load(ctx, request)
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, document := range d.all {
		sources = append(sources, Source{document.Environment, document.Values()})
	}
	return sources, nil
}

// Catalogue returns the names of the catalogue entries on which runtimes can be based, in alphabetical order.
func (p *Pipeline) Catalogue() ([]string, error) {
	e, err := evaluate.New(p.loader.Definitions)
	if err != nil {
		return nil, err
	}
	var names []string
	err = evaluate.Decode(e.Root().LookupPath(cue.ParsePath("bases")), &names, "the catalogue")
	slices.Sort(names)
	return names, err
}

// Fields lists every field of a document in the order of the schema.
func (p *Pipeline) Fields() ([]schema.Field, error) {
	e, err := evaluate.New(p.loader.Definitions)
	if err != nil {
		return nil, err
	}
	return schema.Fields(e), nil
}

// Schema returns the schema of documents or, if the argument "layers" is true, the schema of layers. The
// argument "format" must be one of schema.Formats.
func (p *Pipeline) Schema(format string, layers bool) ([]byte, error) {
	e, err := evaluate.New(p.loader.Definitions)
	if err != nil {
		return nil, err
	}
	return schema.Write(e, format, layers)
}
