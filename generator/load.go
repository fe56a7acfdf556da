package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/sandbox"
)

// load reads the layers of the document, and our definitions.
func (p *Pipeline) load(ctx context.Context, request Request) (*source, error) {
	s := newSource()
	if err := p.read(ctx, s, request); err != nil {
		return nil, err
	}
	return s, p.loadDefinitions(s)
}

func newSource() *source {
	return &source{context: cuecontext.New(), verdicts: map[verdict]bool{}, verified: map[*object.Shape]bool{}}
}

// parse reads one layer.
func (p *Pipeline) parse(ctx context.Context, s *source, input Input, allowImports bool) (*document.Node, error) {
	switch {
	case !strings.EqualFold(path.Ext(input.Name), ".cue"):
		return document.Parse(input.Name, input.Text)
	case p.evaluator == nil:
		return p.parseCUE(s.context, input, allowImports)
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

// read lays each layer over those before it. It fails if one cannot be read at
// all, with the problems of every layer.
func (p *Pipeline) read(ctx context.Context, s *source, request Request) error {
	readable := true
	for _, input := range request.Layers {
		layer, err := p.parse(ctx, s, input, request.AllowImports)
		if err := s.collect(err); err != nil {
			return err
		}
		if layer == nil {
			readable = false
			continue
		}
		if s.document == nil {
			s.document = layer
			continue
		}
		var notes problem.List
		s.document, notes = document.Merge(s.document, layer)
		s.notes = append(s.notes, notes...)
	}
	if !readable {
		return s.problems.Err()
	}
	return nil
}

// collect keeps problems; an error of another kind is returned.
func (s *source) collect(err error) error {
	var problems problem.List
	if err == nil || !errors.As(err, &problems) {
		return err
	}
	s.problems = append(s.problems, problems...)
	return nil
}

// loadDefinitions builds our CUE.
func (p *Pipeline) loadDefinitions(s *source) error {
	instance := load.Instances([]string{"."}, &load.Config{FS: p.definitions, Dir: "/generator"})[0]
	if instance.Err != nil {
		return fmt.Errorf("loading definitions: %w", instance.Err)
	}
	s.definitions = s.context.BuildInstance(instance)
	if err := s.definitions.Err(); err != nil {
		return fmt.Errorf("building definitions: %w", err)
	}
	s.schema = s.definitions.LookupPath(documentPath)
	s.shapes = &shapes{definitions: s.definitions, schema: s.schema}
	return nil
}
