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
	"sync"

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
	Name        string // the document's metadata.name
	Environment string // empty where the document has no environments
	Objects     object.Set
	Delivery    Delivery
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
	apart := *p
	apart.evaluator = evaluator
	return &apart
}

// source is what all environments share, and work on at the same time.
type source struct {
	engines  *engines
	document *document.Node // all layers, merged
	problems problem.List   // what is wrong with the text, where it can be read all the same
	notes    problem.List   // what is odd about the layers
	verified map[*object.Shape]bool
	verdicts sync.Map // of fits: whether a verdict's value fits
	judged   sync.Map // of once: what is sound of a judgement's mapping
}

// work is what the stages hand on, for one environment.
type work struct {
	*source
	environment string
	document    *document.Node // with the environment laid over it
	problems    problem.List   // of the text and of the environment
	notes       problem.List   // of the layers, the environment and the rules
	sound       map[string]any // what is sound of the document
	fits        []Fit          // how large jobs can be
	requests    []request      // what it asks for
	delivery    Delivery
	objects     []object.Object
	err         error // what ended the work: a problem.List, or else our fault
}

// stages run in this order, after load; each takes all environments one step
// further that the one before has not ended.
var stages = []struct {
	name string
	run  func(context.Context, *source, []*work) error
}{
	{"check", checkAll},
	{"compose", composeAll},
	{"verify", verifyAll},
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
	return s.generate(ctx, request.Environments)
}

// generate takes each of the environments wanted through all stages.
func (s *source) generate(ctx context.Context, environments []string) ([]Platform, error) {
	works, err := s.split(environments)
	if err != nil {
		return nil, err
	}
	for _, stage := range stages {
		if err := stage.run(ctx, s, works); err != nil {
			return nil, fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	var problems findings
	var platforms []Platform
	for _, w := range works {
		platform, err := w.platform()
		if err := problems.add(w.environment, err); err != nil {
			return nil, err
		}
		platforms = append(platforms, platform)
	}
	return platforms, problems.list(len(works)).Err()
}

// checkAll checks each environment, several at a time.
func checkAll(ctx context.Context, s *source, works []*work) error {
	return s.engines.share(ctx, len(works), len(works)*s.runtimes(), func(on *engine, i int) {
		works[i].err = works[i].check(on)
	})
}

// verifyAll verifies each environment.
func verifyAll(ctx context.Context, _ *source, works []*work) error {
	for _, w := range works {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.err == nil {
			w.err = w.verify()
		}
	}
	return nil
}

// platform is what has become of the work.
func (w *work) platform() (Platform, error) {
	if w.err != nil {
		return Platform{}, w.err
	}
	set, err := object.NewSet(w.objects...)
	name, _ := mappingAt(w.sound, "metadata")["name"].(string)
	return Platform{Name: name, Environment: w.environment, Objects: set, Delivery: w.delivery, Parts: w.parts(), Notes: w.notes}, err
}

// runtimes counts those of the document, without its environments.
func (s *source) runtimes() int {
	if mapping := s.document.Get("spec").Get("runtimes"); mapping != nil {
		return len(mapping.Fields)
	}
	return 0
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
