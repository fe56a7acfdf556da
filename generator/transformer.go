package generator

import (
	"context"
	"fmt"
	"io/fs"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/transform"
)

// transformsPackage has the schema of documents of the kind Transformer, and what comes of them.
const transformsPackage = "generator/transforms"

var changesPath = cue.ParsePath("changes")

// Changes reads a document of the kind Transformer. If it is at fault, the error is a problem.List.
func (p *Pipeline) Changes(ctx context.Context, input Input) (transform.Changes, error) {
	var asked transform.Changes
	s, err := p.load(ctx, Request{Layers: []Input{input}})
	if err != nil {
		return asked, fmt.Errorf("load: %w", err)
	}
	on, err := newTransformsEngine(p.definitions)
	if err != nil {
		return asked, err
	}
	w := work{source: s, document: s.document, problems: s.problems}
	if problems, _ := w.hold(on); len(problems) > 0 {
		return asked, problems.Err()
	}
	changes := on.definitions.FillPath(cue.ParsePath("document"), w.sound).LookupPath(changesPath)
	if err := decode(changes, &asked); err != nil {
		return asked, bug("reading what is to be changed", err)
	}
	return asked, nil
}

// newTransformsEngine loads what such documents need, which is less than what platforms need.
func newTransformsEngine(definitions fs.FS) (*engine, error) {
	return engineOf(definitions, transformsPackage)
}
