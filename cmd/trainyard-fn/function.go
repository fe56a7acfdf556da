package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// functions are what can be done, by the word for it.
var functions = map[string]func(*resourceList, context.Context, []generator.Platform) int{
	"generate": (*resourceList).generate,
	"validate": (*resourceList).validate,
}

// answer does what the functionConfig says.
func (l *resourceList) answer(ctx context.Context) int {
	if l.FunctionConfig == nil {
		return l.fail("want a functionConfig: the platform document")
	}
	word := annotation(l.FunctionConfig, functionAnnotation)
	if word == "" {
		word = "generate"
	}
	do, known := functions[word]
	if !known {
		return l.fail(fmt.Sprintf("annotation %s: want generate or validate, got %q", functionAnnotation, word))
	}
	platforms, err := l.platforms(ctx)
	if err != nil {
		return l.blame(err)
	}
	for _, p := range platforms {
		for _, note := range p.Notes {
			l.say("info", note)
		}
	}
	return do(l, ctx, platforms)
}

// platforms are what the document makes, in the environment that it is asked for.
func (l *resourceList) platforms(ctx context.Context) ([]generator.Platform, error) {
	text, err := json.Marshal(l.FunctionConfig)
	if err != nil {
		return nil, fmt.Errorf("reading functionConfig: %w", err)
	}
	request := generator.Request{Layers: []generator.Input{{Name: "functionConfig.json", Text: text}}}
	if environment := annotation(l.FunctionConfig, environmentAnnotation); environment != "" {
		request.Environments = []string{environment}
	}
	platforms, err := generator.New(trainyard.CUE).Generate(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(platforms) > 1 || len(request.Environments) == 0 && platforms[0].Environment != "" {
		return nil, fmt.Errorf("the document has environments: name one with the annotation %s (%s)", environmentAnnotation, strings.Join(environments(platforms), ", "))
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
func (l *resourceList) generate(ctx context.Context, platforms []generator.Platform) int {
	l.Items = slices.DeleteFunc(l.Items, local)
	plain, _ := bundles.Named("plain")
	var stream bytes.Buffer
	if err := plain.(bundles.Streamer).Stream(ctx, &stream, platforms[0].Objects); err != nil { //nolint:forcetypeassert // plain is one
		return l.blame(err)
	}
	l.made = asItems(stream.Bytes())
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

// say has a result about a place in the platform document.
func (l *resourceList) say(severity string, p problem.Problem) {
	r := result{Message: p.Message, Severity: severity, ResourceRef: refOf(l.FunctionConfig), File: fileOf(l.FunctionConfig)}
	if p.Path != "" {
		r.Field = &resultField{p.Path}
	}
	if p.Rule.Name != "" {
		r.Tags = tags{"rule": p.Rule.Name}
	}
	l.Results = append(l.Results, r)
}

// fail says what is wrong with how the function is used.
func (l *resourceList) fail(message string) int {
	l.Results = append(l.Results, result{Message: message, Severity: "error"})
	return exitInvalid
}

// blame says what is wrong with the document, each problem by itself, or with us.
func (l *resourceList) blame(err error) int {
	var problems problem.List
	var unknown *generator.EnvironmentError
	var bug *generator.BugError
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			l.say("error", p)
		}
		return exitInvalid
	case errors.As(err, &unknown):
		return l.fail(unknown.Error())
	case errors.As(err, &bug):
		l.fail(err.Error())
		return exitInternal
	}
	return l.fail(err.Error())
}
