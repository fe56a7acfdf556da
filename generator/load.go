package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/sandbox"
)

// load reads the layers of the document.
func (p *Pipeline) load(ctx context.Context, request Request) (*source, error) {
	s := &source{engines: &engines{definitions: p.definitions}, verified: map[*object.Shape]bool{}}
	return s, p.read(ctx, s, request)
}

// parse reads one layer.
func (p *Pipeline) parse(ctx context.Context, input Input, allowImports bool) (*document.Node, error) {
	switch {
	case !strings.EqualFold(path.Ext(input.Name), ".cue"):
		return document.Parse(input.Name, input.Text)
	case p.evaluator == nil:
		return p.parseCUE(cuecontext.New(), input, allowImports)
	}
	if err := document.Check(input.Name, input.Text); err != nil {
		return nil, err
	}
	text, err := p.evaluator(ctx, input, allowImports)
	if limit := (*sandbox.LimitError)(nil); errors.As(err, &limit) {
		return nil, problem.List{{
			Position: problem.Position{File: input.Name, Line: 1, Column: 1},
			Message:  fmt.Sprintf("evaluating this CUE %v: a document is data, and few computations", limit),
		}}
	}
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", input.Name, err)
	}
	return document.Decode(input.Name, text)
}

// WriteEvaluated evaluates a document written in CUE, in the process that an
// Evaluator has started for it.
func (p *Pipeline) WriteEvaluated(w io.Writer, input Input, allowImports bool) error {
	n, err := p.parseCUE(cuecontext.New(), input, allowImports)
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	return document.Encode(w, n, problems)
}

// maxText is how much all layers may be together, in bytes. Reading some texts takes a second for each MiB.
const maxText = 4 << 20

// read lays each layer over those before it. It fails if one cannot be read at
// all, with the problems of every layer.
func (p *Pipeline) read(ctx context.Context, s *source, request Request) error {
	readable, size := true, 0
	var empty problem.List
	for _, input := range request.Layers {
		if size += len(input.Text); size > maxText {
			return append(s.problems, problem.Problem{
				Position: problem.Position{File: input.Name, Line: 1, Column: 1}, Rule: problem.Syntax,
				Message: fmt.Sprintf("more than %d MiB of text, with the layers before it", maxText>>20),
			})
		}
		layer, err := p.parse(ctx, input, request.AllowImports)
		if err := s.collect(err); err != nil {
			return err
		}
		if layer == nil {
			readable = false
			continue
		}
		if layer.Empty() {
			empty = append(empty, problem.Problem{Position: layer.Position, Rule: emptyFile, Message: "file is empty"})
			continue
		}
		if layer.Kind != document.Mapping && !layer.Bad {
			s.problems = append(s.problems, problem.Problem{Position: layer.Position, Rule: wrongValue, Message: "want a mapping, got " + describe(layer, cue.StructKind)})
			readable = false
			continue
		}
		if s.document == nil {
			s.document = layer
			continue
		}
		var notes problem.List
		s.document, notes = document.Merge(s.document, layer)
		s.notes = append(s.notes, notes.By(idleNull)...)
	}
	if !readable {
		return s.problems.Err()
	}
	return s.passOver(empty)
}

// passOver makes a note of layers that say nothing, such as one whose lines are all
// commented out for now. There must be another that says something.
func (s *source) passOver(empty problem.List) error {
	says := ": this layer changes nothing"
	if s.document == nil {
		says = ": want a Platform document"
	}
	for i := range empty {
		empty[i].Message += says
	}
	if s.document == nil {
		return append(s.problems, empty...).Err()
	}
	s.notes = append(s.notes, empty...)
	return nil
}

// collect keeps problems of a text; an error of another kind is returned.
func (s *source) collect(err error) error {
	var problems problem.List
	if err == nil || !errors.As(err, &problems) {
		return err
	}
	s.problems = append(s.problems, problems.By(problem.Syntax)...)
	return nil
}
