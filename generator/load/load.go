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

// Input is a platform document, or a layer of one, as the user wrote it.
type Input struct {
	Name string // file name for messages; *.json is read as JSON, *.cue as CUE, other names as YAML
	Text []byte // at most 1 MiB
}

// CUEEvaluator evaluates a document written in CUE where its time and memory are limited. It returns the output
// of WriteEvaluated there.
type CUEEvaluator func(ctx context.Context, input Input, allowImports bool) ([]byte, error)

// Loader reads documents.
type Loader struct {
	Definitions  fs.FS        // our CUE module, whose schemas documents can import
	CUE          CUEEvaluator // nil evaluates CUE in this process, without limits
	AllowImports bool         // whether documents in CUE can import CUE's own packages
}

// Source is a document made of all its layers.
type Source struct {
	root     *document.Node
	problems problem.List // in texts that could be read nevertheless
	notes    problem.List // about layers
}

// maxText bounds the text of all layers together, in bytes. Some texts take a second to read for each MiB.
const maxText = 4 << 20

// Load reads layers, of which later ones override earlier ones. If a layer cannot be read, the error is a
// problem.List with the problems of all layers.
func (l *Loader) Load(ctx context.Context, layers []Input) (*Source, error) {
	s := &Source{}
	readable, size := true, 0
	var empty problem.List
	for _, input := range layers {
		if size += len(input.Text); size > maxText {
			return nil, append(s.problems, atStart(input, fmt.Sprintf("more than %d MiB of text, with the layers before it", maxText>>20))).WithRule(problem.Syntax).Err()
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
	return s, s.reportEmpty(empty)
}

// parse reads one layer.
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
		return nil, problem.List{atStart(input, fmt.Sprintf("evaluating this CUE %v: a document is data with little computation", limit))}
	}
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", input.Name, err)
	}
	return document.Decode(input.Name, text)
}

// WriteEvaluated evaluates a document written in CUE, in the process that a CUEEvaluator started for it.
func (l *Loader) WriteEvaluated(w io.Writer, input Input) error {
	n, err := l.parseCUE(cuecontext.New(), input)
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	return document.Encode(w, n, problems)
}

// merge adds a layer over the earlier ones. It reports false if the layer is no mapping.
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
	var notes problem.List
	s.root, notes = document.Merge(s.root, layer)
	s.notes = append(s.notes, notes.WithRule(problem.IdleNull)...)
	return true
}

// reportEmpty adds a note for each layer without content, such as a file with comments only. At least one
// layer must have content.
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

// collect keeps the problems of a text, and returns any other error.
func (s *Source) collect(err error) error {
	var problems problem.List
	if err == nil || !errors.As(err, &problems) {
		return err
	}
	s.problems = append(s.problems, problems.WithRule(problem.Syntax)...)
	return nil
}

// atStart is a problem at the start of a file.
func atStart(input Input, message string) problem.Problem {
	return problem.Problem{Position: problem.Position{File: input.Name, Line: 1, Column: 1}, Message: message}
}

// Runtimes counts the runtimes of the document, without those that only environments add.
func (s *Source) Runtimes() int {
	if mapping := s.root.Get("spec").Get("runtimes"); mapping != nil {
		return len(mapping.Fields)
	}
	return 0
}
