// Package acme has what tests of policies judge by: the objects of the example of that name.
package acme

import (
	"testing"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
)

// file is the example's document.
const file = "examples/acme/platform.yaml"

// Objects are those of the example in production, as decoded JSON, with layers over it.
func Objects(t testing.TB, layers ...string) []map[string]any {
	t.Helper()
	text, err := trainyard.Examples.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	request := generator.Request{Layers: []generator.Input{{Name: file, Text: text}}, Environments: []string{"prod"}}
	for _, layer := range layers {
		request.Layers = append(request.Layers, generator.Input{Name: "layer.yaml", Text: []byte(layer)})
	}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for o := range platforms[0].Objects.All() {
		objects = append(objects, o.Fields())
	}
	return objects
}
