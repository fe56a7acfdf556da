package generator

import (
	"context"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/evaluate"
)

// transformPackage is the folder of a CUE package. The CUE package contains the schema of Transformer documents, and
// computes the changes that a Transformer document requests.
const transformPackage = "generator/transform"

// Changes reads a Transformer document, and decodes the requested changes into the argument "into", which must be a
// *transform.Changes. If the document has problems, the error is a problem.List. The argument "into" has the type any,
// because package "generator" must not import package "transform". With this import, the program trainyard would
// contain libraries that only trainyard-fn needs.
func (p *Pipeline) Changes(ctx context.Context, input Input, into any) error {
	d, err := p.load(ctx, Request{Layers: []Input{input}})
	if err != nil {
		return err
	}
	e, err := evaluate.NewOf(p.loader.Definitions, transformPackage)
	if err != nil {
		return err
	}
	var c check.Check
	document, problems := c.Values(e, d.all[0])
	if err := problems.Err(); err != nil {
		return err
	}
	filled := e.Fill(map[string]any{"document": document})
	return evaluate.Decode(filled.LookupPath(cue.ParsePath("changes")), into, "changes")
}
