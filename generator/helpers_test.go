package generator

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxShared is the maximum number of documents that use the same evaluators. There is a limit because an evaluator
// never frees memory.
const maxShared = 100

type sharedPool struct {
	pool *evaluate.Pool
	uses int
}

func (s *sharedPool) load(ctx context.Context, layers ...Input) (*documents, error) {
	d, err := New(trainyard.CUE).load(ctx, Request{Layers: layers})
	if err != nil {
		return nil, err
	}
	if s.uses++; s.pool == nil || s.uses%maxShared == 0 {
		s.pool = d.pool
	}
	d.pool = s.pool
	return d, nil
}

func (s *sharedPool) generate(ctx context.Context, t testing.TB, layers ...Input) error {
	t.Helper()
	d, err := s.load(ctx, layers...)
	if err == nil {
		_, err = d.generate(ctx)
	}
	return err
}

var (
	lineBreak = regexp.MustCompile("\r\n|[\r\n]")
	quoted    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	dump      = regexp.MustCompile(`_\|_|errors in empty disjunction|goroutine |\.go:[0-9]|0x[0-9a-f]{6}|%!`)
)

// showsInternals reports whether a message contains internals of Go or CUE. The argument "layers" contains the user's
// input. showsInternals ignores quoted parts of the message, because quotes can contain any text of the user's input.
// In messages, numbers from the user's input are not in quotes. Such a number, for example 0x3ecccccc8, can look like a
// pointer. Therefore showsInternals also ignores each text that occurs in one of the layers.
func showsInternals(message string, layers []Input) bool {
	for _, match := range dump.FindAllString(quoted.ReplaceAllString(message, ""), -1) {
		isInLayer := func(layer Input) bool { return bytes.Contains(layer.Text, []byte(match)) }
		if !slices.ContainsFunc(layers, isInLayer) {
			return true
		}
	}
	return false
}

func TestShowsInternals(t *testing.T) {
	layers := []Input{{Text: []byte("user: 0x3ecccccc8")}}
	for message, want := range map[string]bool{
		"want a number, got 0x3ecccccc8":     false,
		"want a number, got 0xc000123456":    true,
		`want a number, got "0xc000123456"`:  false,
		"want a number, got goroutine 1":     true,
		"want a number in plain digits, got": false,
	} {
		if got := showsInternals(message, layers); got != want {
			t.Errorf("showsInternals(%q) = %v, want %v", message, got, want)
		}
	}
}

// wellFormed returns the problems that the given error contains. The error must be nil or a list of problems. Each
// problem must be one line without internals of Go or CUE, and its position must be in one of the layers.
func wellFormed(t testing.TB, err error, layers ...Input) problem.List {
	t.Helper()
	var list problem.List
	if err != nil && !errors.As(err, &list) {
		t.Fatalf("want a list of problems, got an error of the type %T: %v", err, err)
	}
	for _, p := range list {
		inside := false
		for _, layer := range layers {
			inside = inside || containsPosition(layer, p.Position)
		}
		if line := p.String(); !inside || showsInternals(p.Message, layers) || strings.ContainsAny(line, "\n\r\x1b") || !utf8.ValidString(line) {
			t.Errorf("the problem is malformed, or its position is outside of the text: %q", line)
		}
	}
	return list
}

// containsPosition reports whether a position is in a layer. The position after the last character of a line also
// counts.
func containsPosition(layer Input, p problem.Position) bool {
	if p.File != layer.Name {
		return false
	}
	lines := lineBreak.Split(string(bytes.TrimPrefix(layer.Text, []byte("\uFEFF"))), -1)
	return p.Line >= 1 && p.Line <= len(lines) && p.Column >= 1 && p.Column <= utf8.RuneCountInString(lines[p.Line-1])+1
}
