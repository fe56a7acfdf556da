// Package generator turns a platform document into Kubernetes objects:
//
//	load → check → plan → compose → verify
//
// Each stage is a package, takes the result of the stage before, and returns its own type. The content of objects is
// written in CUE; Go loads, checks, plans, composes and verifies.
//
// Check reports every problem of the user's input at once, as a problem.List. Verify compares our objects with the types
// of their upstream projects; what it finds is a fault of trainyard, a problem.FaultError.
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

// Input is a platform document, or a layer of one.
type Input = load.Input

// Request names the documents and environments to generate.
type Request struct {
	Layers       []Input  // at least one; later layers override earlier ones
	Environments []string // all environments of the document if empty
	AllowImports bool     // whether documents in CUE can import CUE's own packages
}

// Platform is the result for one environment.
type Platform struct {
	Name        string // the document's metadata.name
	Environment string // empty where the document has no environments
	Objects     object.Set
	Delivery    object.Delivery
	Position    problem.Position // of spec.delivery, or of the mapping that lacks it
	Sections    []string         // the runtimes and tenants of the document, such as runtime/mpi and tenant/team-a
	Notes       problem.List     // about input that works, with a consequence that the author may not expect
}

// Pipeline generates objects with one module of CUE definitions.
type Pipeline struct{ loader load.Loader }

// New returns a pipeline over a CUE module, usually trainyard.CUE.
func New(definitions fs.FS) *Pipeline {
	return &Pipeline{load.Loader{Definitions: definitions}}
}

// EvaluateWith returns a pipeline that evaluates documents in CUE elsewhere. Without it, they are evaluated in this process,
// without limits on time and memory.
func (p *Pipeline) EvaluateWith(evaluator load.CUEEvaluator) *Pipeline {
	copied := *p
	copied.loader.CUE = evaluator
	return &copied
}

// WriteEvaluated evaluates a document written in CUE, in the process that a load.CUEEvaluator started for it.
func (p *Pipeline) WriteEvaluated(w io.Writer, input Input, allowImports bool) error {
	loader := p.loader
	loader.AllowImports = allowImports
	return loader.WriteEvaluated(w, input)
}

// documents are the documents of a request's environments, and the evaluators that work on them.
type documents struct {
	all      []*load.Document
	pool     *evaluate.Pool
	runtimes int // in all environments, without runtimes that only one environment adds
}

// Generate generates the objects of each environment, ordered by name. If the document has problems, the error is a
// problem.List, and the platforms are those of environments without problems, without objects. For an unknown
// environment the error is a load.EnvironmentError; any other error is a fault.
func (p *Pipeline) Generate(ctx context.Context, request Request) ([]Platform, error) {
	d, err := p.load(ctx, request)
	if err != nil {
		return nil, err
	}
	return d.generate(ctx)
}

// generate takes the documents through the stages after load.
func (d *documents) generate(ctx context.Context) ([]Platform, error) {
	plans, err := d.plan(ctx)
	if err != nil {
		return platforms(plans, make([]object.Set, len(plans))), err
	}
	objects, errs, err := compose.Objects(ctx, d.pool, d.runtimes, plans)
	if err == nil {
		err = mergeProblems(d.all, errs)
	}
	if err != nil {
		return nil, err
	}
	if err := verify.Objects(objects...); err != nil {
		return nil, err
	}
	return platforms(plans, objects), nil
}

// load reads the documents of a request.
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

// plan checks each document and plans its objects. Both use the same evaluator, which has the document filled in.
func (d *documents) plan(ctx context.Context) ([]*plan.Plan, error) {
	plans := make([]*plan.Plan, len(d.all))
	err := d.check(ctx, func(e *evaluate.Evaluator, checked *check.Checked, i int) (err error) {
		plans[i], err = plan.New(e, checked)
		return err
	})
	return plans, err
}

// check checks each document, and calls do for those without problems.
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

// platforms returns the results of the environments that have a plan.
func platforms(plans []*plan.Plan, objects []object.Set) []Platform {
	var all []Platform
	for i, p := range plans {
		if p == nil {
			continue
		}
		all = append(all, Platform{
			Name: p.Name, Environment: p.Document.Environment, Objects: objects[i], Delivery: p.Delivery,
			Position: p.Document.Root.Locate("spec", "delivery"), Sections: p.Document.Sections(), Notes: p.Notes,
		})
	}
	return all
}

// Capacity returns the size of the TrainJobs of each runtime in the namespace of each tenant that lists it. A document
// with problems has no capacity.
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
	Environment string       `json:"environment,omitempty"` // empty where the document has no environments
	Values      []load.Value `json:"values"`
}

// Sources returns the origin of each value of a document, with or without problems. Defaults have no origin and are not
// included.
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

// Catalogue lists the runtimes that a document can start from, ordered by name.
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

// Schema writes the schema of documents, or of layers, in one of schema.Formats.
func (p *Pipeline) Schema(format string, layers bool) ([]byte, error) {
	e, err := evaluate.New(p.loader.Definitions)
	if err != nil {
		return nil, err
	}
	return schema.Write(e, format, layers)
}
