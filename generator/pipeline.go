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

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// Input is a platform document as somebody gave it to us.
type Input struct {
	Name string // the file's name, for messages; *.json is read as JSON, all else as YAML
	Text []byte // at most 1 MiB
}

// Pipeline generates objects with one set of CUE definitions.
type Pipeline struct {
	definitions fs.FS
}

// New returns a pipeline over a CUE module, usually trainyard.CUE.
func New(definitions fs.FS) *Pipeline {
	return &Pipeline{definitions: definitions}
}

// work is what the stages hand on.
type work struct {
	input    Input
	document *document.Node
	problems problem.List // what is wrong with the text, where it can be read all the same
	context  *cue.Context
	schema   cue.Value // what a document may be
	cue      cue.Value // generator/*.cue; check fills in what is sound of the document
	objects  []object.Object
}

// stages run in this order; each needs what the one before left in work.
var stages = []struct {
	name string
	run  func(*Pipeline, *work) error
}{
	{"load", (*Pipeline).load},
	{"check", (*Pipeline).check},
	{"compose", (*Pipeline).compose},
	{"verify", (*Pipeline).verify},
}

// Generate turns a document into its objects. If the document is at fault, the
// error is a problem.List; any other error is ours.
func (p *Pipeline) Generate(ctx context.Context, input Input) (object.Set, error) {
	w := &work{input: input}
	for _, stage := range stages {
		if err := ctx.Err(); err != nil {
			return object.Set{}, err
		}
		if err := stage.run(p, w); err != nil {
			return object.Set{}, fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	return object.NewSet(w.objects...)
}
