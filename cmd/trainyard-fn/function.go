package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// Annotations of the functionConfig.
const (
	functionAnnotation    = "trainyard.dev/function"
	environmentAnnotation = "trainyard.dev/environment"
)

// Kinds of functionConfigs.
const (
	platformKind    = "Platform"
	transformerKind = "Transformer"
)

// function is what can be done.
type function struct {
	kind string // of the functionConfig
	do   func(*resourceList, context.Context) int
}

// functions are all of them, by the word for it.
var functions = map[string]function{
	"generate":  {platformKind, (*resourceList).generate},
	"validate":  {platformKind, (*resourceList).validate},
	"transform": {transformerKind, (*resourceList).transform},
}

// answer does what the functionConfig says.
func (l *resourceList) answer(ctx context.Context) int {
	if l.FunctionConfig == nil {
		return l.fail("want a functionConfig: a platform document, or a Transformer")
	}
	kind := refOf(l.FunctionConfig).Kind
	if kind != platformKind && kind != transformerKind {
		return l.fail(fmt.Sprintf("want a functionConfig of the kind %s or %s, got %q%s", platformKind, transformerKind, kind, meant(kind, []string{platformKind, transformerKind})))
	}
	word := annotation(l.FunctionConfig, functionAnnotation)
	if word == "" {
		word = map[string]string{platformKind: "generate", transformerKind: "transform"}[kind]
	}
	f, known := functions[word]
	if words := slices.Sorted(maps.Keys(functions)); !known {
		return l.fail(fmt.Sprintf("annotation %s: want one of %s, got %q%s", functionAnnotation, strings.Join(words, ", "), word, meant(word, words)))
	}
	if f.kind != kind {
		return l.fail(fmt.Sprintf("annotation %s: %s wants a functionConfig of the kind %s, got %s", functionAnnotation, word, f.kind, kind))
	}
	return f.do(l, ctx)
}

func meant(word string, known []string) string {
	if nearest := problem.Nearest(word, known); nearest != "" {
		return fmt.Sprintf(": did you mean %s?", nearest)
	}
	return ""
}

// config is the functionConfig as a document.
func (l *resourceList) config() (generator.Input, error) {
	text, err := json.Marshal(l.FunctionConfig)
	if err != nil {
		return generator.Input{}, fmt.Errorf("reading functionConfig: %w", err)
	}
	return generator.Input{Name: "functionConfig.json", Text: text}, nil
}

// request is what the functionConfig asks for.
func (l *resourceList) request() (generator.Request, error) {
	document, err := l.config()
	request := generator.Request{Layers: []generator.Input{document}}
	if environment := annotation(l.FunctionConfig, environmentAnnotation); environment != "" {
		request.Environments = []string{environment}
	}
	return request, err
}

// platforms are what the document makes, in the environment that it is asked for.
func (l *resourceList) platforms(ctx context.Context, request generator.Request) ([]generator.Platform, error) {
	platforms, err := generator.New(trainyard.CUE).Generate(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(platforms) > 1 || len(request.Environments) == 0 && platforms[0].Environment != "" {
		return nil, fmt.Errorf("the document has environments: name one with the annotation %s (%s)", environmentAnnotation, strings.Join(environments(platforms), ", "))
	}
	for _, note := range platforms[0].Notes {
		l.say("info", note)
	}
	return platforms, nil
}

func environments(platforms []generator.Platform) []string {
	var names []string
	for _, p := range platforms {
		names = append(names, p.Environment)
	}
	return names
}

// generate adds the objects to those that the host has.
func (l *resourceList) generate(ctx context.Context) int {
	request, err := l.request()
	if err != nil {
		return l.blame(err)
	}
	platforms, err := l.platforms(ctx, request)
	if err != nil {
		return l.blame(err)
	}
	plain, _ := bundles.Named("plain")
	var stream bytes.Buffer
	if err := plain.(bundles.Streamer).Stream(ctx, &stream, platforms[0].Objects); err != nil { //nolint:forcetypeassert // plain is one
		return l.blame(err)
	}
	l.made = asItems(stream.Bytes())
	if l.generates() {
		return l.witness("generate")
	}
	l.keep(func(item map[string]any) bool { return !local(item) })
	return exitOK
}

// asItems makes items of a list of the documents of a stream, each of which begins with three dashes.
func asItems(stream []byte) []byte {
	items := make([]byte, 0, len(stream)+len(stream)/8)
	first := false
	for line := range bytes.Lines(stream) {
		switch {
		case bytes.Equal(line, []byte("---\n")):
			first = true
			continue
		case first:
			items = append(items, '-', ' ')
		case len(bytes.TrimSpace(line)) > 0: // an empty line of a text has no indentation
			items = append(items, ' ', ' ')
		}
		first = false
		items = append(items, line...)
	}
	return items
}
