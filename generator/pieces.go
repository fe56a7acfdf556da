package generator

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/object"
)

// maker is what makes pieces in our CUE.
type maker struct {
	by   string // its package
	kind string // the field of the package that it is in
	name string
}

// The kinds of makers.
const (
	objectMakers = "makers"
	components   = "components"
)

// piece is what CUE makes at once: an object but for its components, or a component. Nobody
// changes it once it is made.
type piece struct {
	content    any
	leaves     []leaf // in the order of the content's fields
	echoes     []echo
	gaps       []gap
	size       int // of all keys, and texts that are no leaves, in bytes, with what JSON puts around them
	definition string
}

// gap is where a component goes.
type gap struct {
	path      []any
	component string
}

// assembled is a piece with its components in it.
func (f *family) assembled(by maker, in map[string]any) (*piece, error) {
	made, err := f.piece(by, in)
	if err != nil || len(made.gaps) == 0 {
		return made, err
	}
	whole := &piece{leaves: slices.Clip(made.leaves), echoes: slices.Clip(made.echoes), size: made.size, definition: made.definition}
	var paths [][]any
	var contents []any
	for _, g := range made.gaps {
		component, err := f.assembled(maker{by.by, components, g.component}, in)
		if err != nil {
			return nil, err
		}
		whole.add(g.path, component)
		paths, contents = append(paths, g.path), append(contents, component.content)
	}
	fields, ok := made.content.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no mapping, and has a place for %s", by.name, made.gaps[0].component)
	}
	whole.content = object.With(fields, paths, contents)
	return whole, nil
}

// add takes over what is known of a component at a path.
func (p *piece) add(path []any, component *piece) {
	for _, l := range component.leaves {
		l.path = slices.Concat(path, l.path)
		p.leaves = append(p.leaves, l)
	}
	for _, e := range component.echoes {
		e.path = slices.Concat(path, e.path)
		p.echoes = append(p.echoes, e)
	}
	p.size += component.size
}

// piece has CUE make a piece, unless one of its kind has been made of what it reads.
func (f *family) piece(by maker, in map[string]any) (*piece, error) {
	reads, err := f.readsOf(by)
	if err != nil {
		return nil, err
	}
	if reads.everything() { // no other is made of less
		return f.make(by, in)
	}
	in = reads.of(in)
	if found, ok := f.pool.find(by, in); ok {
		return found, nil
	}
	made, err := f.make(by, in)
	if err == nil {
		f.pool.keep(by, in, made)
	}
	return made, err
}

// make has CUE make a piece.
func (f *family) make(by maker, in map[string]any) (*piece, error) {
	v, err := f.maker(by)
	if err != nil {
		return nil, err
	}
	made := v.FillPath(inPath, in)
	v = made.LookupPath(objectPath)
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return nil, err
	}
	found := reading{in: in}
	if found.content, err = found.value(v, nil, nil); err != nil {
		return nil, err
	}
	if f.definition == "" && by.kind == objectMakers {
		f.definition = definitionOf(made.LookupPath(definitionPath))
	}
	found.definition = f.definition
	read := found.piece // without the input
	return &read, found.checkLeaves()
}

// checkLeaves holds the marks to their word: a leaf is its source and nothing else.
func (r *reading) checkLeaves() error {
	for _, l := range r.leaves {
		want, ok := lookup(r.in, l.source)
		if got := object.At(r.content, l.path); !ok || got != asWritten(want) {
			return fmt.Errorf("leaf %v is %v, and its source %s is %v", l.path, got, strings.Join(l.source, "."), want)
		}
	}
	return nil
}

// find and keep share pieces among families. Two may make the same at a time.
func (p *pool) find(by maker, in map[string]any) (*piece, bool) {
	p.Lock()
	defer p.Unlock()
	known, ok := p.pieces[by]
	if !ok {
		return nil, false
	}
	return known.find(in)
}

func (p *pool) keep(by maker, in map[string]any, made *piece) {
	var sources, shown [][]string
	for _, l := range made.leaves {
		sources = append(sources, l.source)
		if l.of != nil {
			shown = append(shown, l.of)
		}
	}
	p.Lock()
	defer p.Unlock()
	if p.pieces[by] == nil {
		p.pieces[by] = &memo[*piece]{}
	}
	p.pieces[by].keep(in, sources, shown, made)
}
