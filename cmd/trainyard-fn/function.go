package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
)

const (
	functionAnnotation    = v1alpha1.FunctionAnnotation
	environmentAnnotation = v1alpha1.EnvironmentKey
)

const (
	platformKind    = "Platform"
	transformerKind = "Transformer"
)

type function struct {
	kind string // of the functionConfig
	run  func(*resourceList, context.Context) int
}

var functions = map[string]function{
	"generate":  {platformKind, (*resourceList).generate},
	"validate":  {platformKind, (*resourceList).validate},
	"transform": {transformerKind, (*resourceList).transform},
}

// process(ctx) runs one of the functions in the map "functions", and returns the exit code. The kind and an annotation
// of the functionConfig determine which function runs.
func (l *resourceList) process(ctx context.Context) int {
	if l.FunctionConfig.IsNilOrEmpty() {
		return l.reportUsage("want a functionConfig: a platform document, or a Transformer")
	}
	kind := l.FunctionConfig.GetKind()
	if kind != platformKind && kind != transformerKind {
		return l.reportUsage(fmt.Sprintf("want a functionConfig of the kind %s or %s, got %q%s", platformKind, transformerKind, kind, suggestName(kind, []string{platformKind, transformerKind})))
	}
	name := l.FunctionConfig.GetAnnotations()[functionAnnotation]
	if name == "" {
		name = map[string]string{platformKind: "generate", transformerKind: "transform"}[kind]
	}
	f, known := functions[name]
	if names := slices.Sorted(maps.Keys(functions)); !known {
		return l.reportUsage(fmt.Sprintf("annotation %s: want one of %s, got %q%s", functionAnnotation, strings.Join(names, ", "), name, suggestName(name, names)))
	}
	if f.kind != kind {
		return l.reportUsage(fmt.Sprintf("annotation %s: function %s wants a functionConfig of the kind %s, got the kind %s", functionAnnotation, name, f.kind, kind))
	}
	return f.run(l, ctx)
}

// suggestName returns text that suggests the most similar known name, or an empty string if no name is similar.
func suggestName(name string, known []string) string {
	if nearest := message.Nearest(name, known); nearest != "" {
		return fmt.Sprintf(": did you mean %q?", nearest)
	}
	return ""
}

// configDocument returns the functionConfig as the input of the generator.
func (l *resourceList) configDocument() (generator.Input, error) {
	text, err := toJSON(l.FunctionConfig)
	if err != nil {
		return generator.Input{}, fmt.Errorf("reading functionConfig: %w", err)
	}
	return generator.Input{Name: "functionConfig.json", Text: text}, nil
}

// newRequest returns the request for the generator. The functionConfig is the whole document, and one of its annotations
// selects the environment.
func (l *resourceList) newRequest() (generator.Request, error) {
	document, err := l.configDocument()
	request := generator.Request{Layers: []generator.Input{document}}
	if environment := l.FunctionConfig.GetAnnotations()[environmentAnnotation]; environment != "" {
		request.Environments = []string{environment}
	}
	return request, err
}

// generatePlatforms generates the requested platform. If the document has environments, the request must name one of
// them.
func (l *resourceList) generatePlatforms(ctx context.Context, request generator.Request) ([]generator.Platform, error) {
	platforms, err := generator.New(trainyard.CUE).Generate(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(platforms) > 1 || len(request.Environments) == 0 && platforms[0].Environment != "" {
		var names []string
		for _, p := range platforms {
			names = append(names, p.Environment)
		}
		return nil, fmt.Errorf("the document has environments: name one with the annotation %s (one of %s)", environmentAnnotation, strings.Join(names, ", "))
	}
	l.reportAll(l.FunctionConfig, framework.Info, platforms[0].Notes, exitOK)
	return platforms, nil
}

func (l *resourceList) generate(ctx context.Context) int {
	request, err := l.newRequest()
	if err != nil {
		return l.reportError(err)
	}
	platforms, err := l.generatePlatforms(ctx, request)
	if err != nil {
		return l.reportError(err)
	}
	plain, _ := bundles.Named("plain")
	var stream bytes.Buffer
	if err := plain.(bundles.Streamer).Stream(ctx, &stream, platforms[0].Objects); err != nil { //nolint:forcetypeassert // plain is a Streamer
		return l.reportError(err)
	}
	objects, err := (&kio.ByteReader{Reader: &stream, OmitReaderAnnotations: true}).Read()
	if err != nil {
		return l.reportError(err)
	}
	if l.isGenerator() {
		if code := l.leaveMarker("generate"); code != exitOK {
			return code
		}
	} else {
		l.Items = slices.DeleteFunc(l.Items, isLocal)
	}
	l.Items = append(l.Items, objects...)
	return exitOK
}
