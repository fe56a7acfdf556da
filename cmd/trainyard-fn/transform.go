package main

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/transform"
)

func (l *resourceList) transform(ctx context.Context) int {
	document, err := l.configDocument()
	if err != nil {
		return l.reportError(err)
	}
	var changes transform.Changes
	if err := generator.New(trainyard.CUE).Changes(ctx, document, &changes); err != nil {
		return l.reportError(err)
	}
	if l.isGenerator() {
		return l.leaveMarker("transform")
	}
	var objects []*yaml.RNode
	for _, item := range l.Items {
		if !isLocal(item) {
			objects = append(objects, item)
		}
	}
	wrong, notes := changes.Apply(objects)
	l.reportAll(l.FunctionConfig, framework.Warning, notes, exitOK)
	for _, p := range wrong {
		l.report(objects[p.Object], framework.Error, p.Problem)
	}
	if len(wrong) > 0 {
		return exitDenied
	}
	return exitOK
}
