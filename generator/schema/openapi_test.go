package schema

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator/evaluate"
)

// TestOpenAPIIsValid checks that an OpenAPI library can load the exported OpenAPI document, and that the document's
// schemas accept valid examples and refuse invalid examples.
func TestOpenAPIIsValid(t *testing.T) {
	text, err := Write(evaluator(t), "openapi", false)
	if err != nil {
		t.Fatal(err)
	}
	described, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := described.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	example := func(name string) string {
		text, err := trainyard.Examples.ReadFile("examples/" + name + "/platform.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cases := map[string]struct {
		schema, text string
		right        bool
	}{
		"an example":                       {"Platform", example("vanilla"), true},
		"an example with environments":     {"Platform", example("acme"), true},
		"a layer is not a document":        {"Platform", "spec: {target: {openshift: null}}", false},
		"a layer":                          {"PlatformLayer", "spec: {target: {openshift: null}}", true},
		"a key that is in another mapping": {"PlatformLayer", "spec: {openshift: true}", false},
		"a value out of bounds":            {"PlatformLayer", "spec: {ceilings: {maxNodes: 0}}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var value any
			if err := yaml.Unmarshal([]byte(tc.text), &value); err != nil {
				t.Fatal(err)
			}
			err := described.ValidateSchemaJSON(described.Components.Schemas[tc.schema].Value, value)
			if (err == nil) != tc.right {
				t.Errorf("admitted %t, want %t: %v", err == nil, tc.right, err)
			}
		})
	}
}

func evaluator(t *testing.T) *evaluate.Evaluator {
	t.Helper()
	e, err := evaluate.New(trainyard.CUE)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestDefaultsAreDocumented(t *testing.T) {
	for _, f := range Fields(evaluator(t)) {
		comment := strings.ReplaceAll(f.Doc, `"`, "")
		if value := defaultText(f); f.Default != nil && !strings.Contains(comment, strings.Trim(value, "{}")+" by default") && !strings.Contains(comment, value+", the default") {
			t.Errorf("%s: want a comment with %q by default, got: %s", f.Path, value, f.Doc)
		}
	}
}
