package main

import (
	"context"

	"go.yaml.in/yaml/v4"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
)

// transform changes what the host has as the functionConfig says.
func (l *resourceList) transform(ctx context.Context) int {
	document, err := l.config()
	if err != nil {
		return l.blame(err)
	}
	changes, err := generator.New(trainyard.CUE).Changes(ctx, document)
	if err != nil {
		return l.blame(err)
	}
	if l.generates() {
		return l.witness("transform")
	}
	var objects []*yaml.Node
	var of []int // the items that objects are
	for i, item := range l.Items {
		if item != nil && !local(item) {
			objects, of = append(objects, l.texts[i]), append(of, i)
		}
	}
	wrong, notes := changes.Apply(objects)
	for _, note := range notes {
		l.say("warning", note)
	}
	for _, p := range wrong {
		l.about(l.Items[of[p.Object]], "error", p.Problem)
	}
	if len(wrong) > 0 {
		return exitDenied
	}
	return exitOK
}
