package generator

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxShared is after how many documents what they share is made anew: CUE forgets nothing.
const maxShared = 100

// sharing generates many documents, one after another, on the same engines.
type sharing struct {
	engines *engines
	uses    int
}

func (s *sharing) generate(ctx context.Context, t testing.TB, layers ...Input) error {
	t.Helper()
	p := New(trainyard.CUE)
	source, err := p.load(ctx, Request{Layers: layers})
	if err != nil {
		return err
	}
	if s.uses++; s.engines == nil || s.uses%maxShared == 0 {
		s.engines = source.engines
	}
	source.engines = s.engines
	_, err = source.generate(ctx, nil)
	return err
}

var (
	lineBreak = regexp.MustCompile("\r\n|[\r\n]")
	quoted    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	dump      = regexp.MustCompile(`_\|_|errors in empty disjunction|goroutine |\.go:[0-9]|0x[0-9a-f]{6}|%!`)
)

// wellTold fails the test unless an error is a list of problems, each in one line of words, at a
// place in one of the layers. What it quotes is the person's, and may look like anything.
func wellTold(t testing.TB, err error, layers ...Input) problem.List {
	t.Helper()
	var list problem.List
	if err != nil && !errors.As(err, &list) {
		t.Fatalf("error %T, want problems: %v", err, err)
	}
	for _, p := range list {
		inside := false
		for _, layer := range layers {
			inside = inside || holds(layer, p.Position)
		}
		if said := p.String(); !inside || dump.MatchString(quoted.ReplaceAllString(p.Message, "")) || strings.ContainsAny(said, "\n\r\x1b") || !utf8.ValidString(said) {
			t.Errorf("badly told, or outside of the text: %q", said)
		}
	}
	return list
}

// holds tells whether a place is in a text, or right behind one of its lines.
func holds(layer Input, p problem.Position) bool {
	if p.File != layer.Name {
		return false
	}
	lines := lineBreak.Split(string(bytes.TrimPrefix(layer.Text, []byte("\uFEFF"))), -1)
	return p.Line >= 1 && p.Line <= len(lines) && p.Column >= 1 && p.Column <= utf8.RuneCountInString(lines[p.Line-1])+1
}
