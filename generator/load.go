package generator

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// load reads the layers of the document, and our definitions.
func (p *Pipeline) load(layers []Input) (*source, error) {
	s := newSource()
	if err := p.read(s, layers); err != nil {
		return nil, err
	}
	return s, p.loadDefinitions(s)
}

func newSource() *source {
	return &source{context: cuecontext.New(), verdicts: map[verdict]bool{}, verified: map[*object.Shape]bool{}}
}

// parse reads one layer.
func (p *Pipeline) parse(s *source, input Input) (*document.Node, error) {
	if strings.EqualFold(path.Ext(input.Name), ".cue") {
		return p.parseCUE(s.context, input)
	}
	return document.Parse(input.Name, input.Text)
}

// read lays each layer over those before it. It fails if one cannot be read at
// all, with the problems of every layer.
func (p *Pipeline) read(s *source, layers []Input) error {
	readable := true
	for _, input := range layers {
		layer, err := p.parse(s, input)
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
