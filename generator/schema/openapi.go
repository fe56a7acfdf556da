package schema

import (
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/jsonschema"
)

// openAPI is an OpenAPI document that has schemas, but no paths.
type openAPI struct {
	Version    string            `json:"openapi"`
	Info       openAPIInfo       `json:"info"`
	Dialect    string            `json:"jsonSchemaDialect"`
	Paths      struct{}          `json:"paths"` // always empty; older versions of OpenAPI require the key "paths"
	Components openAPIComponents `json:"components"`
}

type openAPIInfo struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

type openAPIComponents struct {
	Schemas *jsonschema.Properties `json:"schemas"`
}

// writeOpenAPI writes an OpenAPI document with the schemas Platform and PlatformLayer. The schemas are JSON Schemas,
// because OpenAPI 3.1 uses JSON Schema.
func writeOpenAPI(e *evaluate.Evaluator, _ bool) ([]byte, error) {
	x := exporter{evaluator: e, at: "#/components/schemas/"}
	for _, complete := range []bool{true, false} {
		x.addReference(referred(e.Schema()), complete)
	}
	if err := x.err(); err != nil {
		return nil, err
	}
	return writeIndented(openAPI{
		Version:    "3.1.0",
		Info:       openAPIInfo{"Platform documents of trainyard", "v1alpha1"},
		Dialect:    jsonschema.Dialect,
		Components: openAPIComponents{&x.definitions},
	})
}
