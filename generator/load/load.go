// Package load reads the layers of a platform document, merges them, and makes one document for each environment.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/sandbox"
)

// Input is a platform document, or a layer of a platform document, as the user wrote it.
type Input struct {
	Name string // file name for messages; *.json is read as JSON, *.cue as CUE, and any other file as YAML
	Text []byte // at most 1 MiB
}

// CUEEvaluator runs WriteEvaluated in a process with limited time and memory, and returns the output of
// WriteEvaluated.
type CUEEvaluator func(ctx context.Context, input Input, allowImports bool) ([]byte, error)

// Loader reads the layers of documents in YAML, JSON and CUE.
type Loader struct {
	Definitions  fs.FS        // the CUE module of trainyard, with the schemas that documents can import
	CUE          CUEEvaluator // if nil, this process evaluates CUE without limits
	AllowImports bool         // whether documents in CUE can import CUE's own packages
}

// Source is a document that is merged from all its layers.
type Source struct {
	root      *document.Node
	additions []addition   // entries that later layers add
	problems  problem.List // problems in layers that could still be read
	notes     problem.List // notes about layers
}

// maxText is the maximum size, in bytes, of the text of all layers together. Reading can take a second for
// each MiB of text.
const maxText = 4 << 20

// Load reads layers and merges them. Later layers override earlier layers. If a layer cannot
// be read, the error is a problem.List with the problems of all layers.
func (l *Loader) Load(ctx context.Context, layers []Input) (*Source, error) {
	s := &Source{}
	readable, size := true, 0
	var empty problem.List
	for _, input := range layers {
		if size += len(input.Text); size > maxText {
			return nil, append(s.problems, atStart(input, fmt.Sprintf("this layer and the layers before it contain more than %d MiB of text", maxText>>20))).WithRule(problem.Syntax).Err()
		}
		layer, err := l.parse(ctx, input)
		if err := s.collect(err); err != nil {
			return nil, err
		}
		switch {
		case layer == nil:
			readable = false
		case layer.Empty():
			empty = append(empty, problem.Problem{Position: layer.Position, Rule: problem.EmptyFile, Message: "file is empty"})
		default:
			readable = s.merge(layer) && readable
		}
	}
	if !readable {
		return nil, s.problems.Err()
	}
	s.checkLayers()
	return s, s.reportEmpty(empty)
}

func (l *Loader) parse(ctx context.Context, input Input) (*document.Node, error) {
	switch {
	case !strings.EqualFold(path.Ext(input.Name), ".cue"):
		return document.Parse(input.Name, input.Text)
	case l.CUE == nil:
		return l.parseCUE(cuecontext.New(), input)
	}
	if err := document.Check(input.Name, input.Text); err != nil {
		return nil, err
	}
	text, err := l.CUE(ctx, input, l.AllowImports)
	if limit := (*sandbox.LimitError)(nil); errors.As(err, &limit) {
		return nil, problem.List{atStart(input, fmt.Sprintf("evaluating this CUE file exceeded a limit (%v): write plain data with little computation", limit))}
	}
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", input.Name, err)
	}
	return document.Decode(input.Name, text)
}

// WriteEvaluated evaluates a document written in CUE, and writes the result to w. WriteEvaluated runs in a process that
// a CUEEvaluator starts.
func (l *Loader) WriteEvaluated(w io.Writer, input Input) error {
	n, err := l.parseCUE(cuecontext.New(), input)
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	return document.Encode(w, n, problems)
}

// merge applies a layer to the result of the earlier layers, and returns false if the
// layer is not a mapping.
func (s *Source) merge(layer *document.Node) bool {
	if layer.Kind != document.Mapping && !layer.Unreadable {
		s.problems = append(s.problems, problem.Problem{
			Position: layer.Position, Rule: problem.WrongValue, Message: "want a mapping, got " + wording.Describe(layer, cue.StructKind),
		})
		return false
	}
	if s.root == nil {
		s.root = layer
		return true
	}
	s.recordAdditions(layer)
	merged, notes := document.Merge(s.root, withoutPatches(layer))
	s.root = composePatches(merged, s.root, layer)
	s.notes = append(s.notes, notes.WithRule(problem.IdleNull)...)
	return true
}

// reportEmpty adds a note for each layer without content. If all layers are without content, reportEmpty adds no
// notes, and returns a problem for each layer.
func (s *Source) reportEmpty(empty problem.List) error {
	consequence := ": this layer changes nothing"
	if s.root == nil {
		consequence = ": want a Platform document"
	}
	for i := range empty {
		empty[i].Message += consequence
	}
	if s.root == nil {
		return append(s.problems, empty...).Err()
	}
	s.notes = append(s.notes, empty...)
	return nil
}

// collect is the method that takes problems out of an error. If the error is or wraps a problem.List, the method adds
// the problems in this list to the problems of the source. Otherwise, the method returns the error.
func (s *Source) collect(err error) error {
	var problems problem.List
	if err == nil || !errors.As(err, &problems) {
		return err
	}
	s.problems = append(s.problems, problems.WithRule(problem.Syntax)...)
	return nil
}

func atStart(input Input, message string) problem.Problem {
	return problem.Problem{Position: problem.Position{File: input.Name, Line: 1, Column: 1}, Message: message}
}

// Runtimes returns the number of runtimes in spec.runtimes. An environment can add further runtimes. The result does
// not include these further runtimes.
func (s *Source) Runtimes() int {
	if mapping := s.root.Get("spec").Get("runtimes"); mapping != nil {
		return len(mapping.Fields)
	}
	return 0
}
