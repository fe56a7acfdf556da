// Package generator turns a platform document into Kubernetes objects, in four
// stages: load, check, compose, verify. Objects are written in CUE; the Go here
// loads, orders and verifies, and never makes an object's content itself.
//
// Check and verify speak in two voices. Check holds a person's input against
// the schema and reports every problem at once, as a problem.List. Verify holds
// our output against upstream's types: what it finds is a bug in trainyard.
package generator

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// Input is a platform document, or a layer of one, as somebody gave it to us.
type Input struct {
	Name string // the file's name, for messages; *.json is read as JSON, *.cue as CUE, all else as YAML
	Text []byte // at most 1 MiB
}

// Request is what to generate.
type Request struct {
	Layers       []Input  // at least one; each is laid over those before it
	Environments []string // which of the document's environments; none means all
	AllowImports bool     // whether documents in CUE may import CUE's own packages
}

// Platform is what a document makes in one environment.
type Platform struct {
	Environment string // empty where the document has no environments
	Objects     object.Set
	Parts       []string     // what the document has, such as runtime/mpi and tenant/team-a, whatever comes of it
	Notes       problem.List // what works, with a surprise
}

// Evaluator evaluates a document written in CUE somewhere else, where it cannot
// take all the time and memory there is. It returns what WriteEvaluated wrote there.
type Evaluator func(ctx context.Context, input Input, allowImports bool) ([]byte, error)

// Pipeline generates objects with one set of CUE definitions.
type Pipeline struct {
	definitions fs.FS
	evaluator   Evaluator
}

// New returns a pipeline over a CUE module, usually trainyard.CUE.
func New(definitions fs.FS) *Pipeline {
	return &Pipeline{definitions: definitions}
}

// EvaluateWith returns a pipeline that has documents in CUE evaluated elsewhere.
// Without, they are evaluated in this process, and nothing bounds what they take.
func (p *Pipeline) EvaluateWith(evaluator Evaluator) *Pipeline {
	return &Pipeline{definitions: p.definitions, evaluator: evaluator}
}

// source is what all environments share.
type source struct {
	context     *cue.Context
	definitions cue.Value      // generator/*.cue
	schema      cue.Value      // what a document may be
	document    *document.Node // all layers, merged
	problems    problem.List   // what is wrong with the text, where it can be read all the same
	notes       problem.List   // what is odd about the layers
	shapes      *shapes
	verified    map[*object.Shape]bool
	verdicts    map[verdict]bool
}

// work is what the stages hand on, for one environment.
type work struct {
	*source
	environment string
	document    *document.Node // with the environment laid over it
	problems    problem.List   // of the text and of the environment
	filled      cue.Value      // definitions with what is sound of the document, once it is checked
	objects     []object.Object
	notes       problem.List // of the layers, the environment and the rules
}

// stages run in this order for each environment, after load; each needs what
// the one before left in work.
var stages = []struct {
	name string
	run  func(*work) error
}{
	{"check", (*work).check},
	{"compose", (*work).compose},
	{"verify", (*work).verify},
}

// Generate turns a document into its objects, once for each environment, ordered
// by name. If the document is at fault, the error is a problem.List with the
// problems of all environments; an environment that does not exist is an
// *EnvironmentError; any other error is ours.
func (p *Pipeline) Generate(ctx context.Context, request Request) ([]Platform, error) {
	s, err := p.load(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	works, err := s.split(request.Environments)
	if err != nil {
		return nil, err
	}
	var problems findings
	var platforms []Platform
	for _, w := range works {
		platform, err := w.run(ctx)
		if err := problems.add(w.environment, err); err != nil {
			return nil, err
		}
		platforms = append(platforms, platform)
	}
	return platforms, problems.list(len(works)).Err()
}

// run takes one environment through all stages.
func (w *work) run(ctx context.Context) (Platform, error) {
	for _, stage := range stages {
		if err := ctx.Err(); err != nil {
			return Platform{}, err
		}
		if err := stage.run(w); err != nil {
			return Platform{}, fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	set, err := object.NewSet(w.objects...)
	w.filled = cue.Value{} // large, and of no more use
	return Platform{Environment: w.environment, Objects: set, Parts: w.parts(), Notes: w.notes}, err
}

// parts names the parts of the document that may be told apart.
func (w *work) parts() []string {
	var names []string
	for kind, field := range map[string]string{"runtime": "runtimes", "tenant": "tenants"} {
		mapping := w.document.Get("spec").Get(field)
		if mapping == nil {
			continue
		}
		for _, f := range mapping.Fields {
			names = append(names, kind+"/"+f.Key)
		}
	}
	slices.Sort(names)
	return names
}
