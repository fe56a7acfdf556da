package generator

import "github.com/trainyard/trainyard/generator/internal/jsonschema"

// openAPI is a document that describes no calls and two kinds of text.
type openAPI struct {
	Version    string            `json:"openapi"`
	Info       openAPIInfo       `json:"info"`
	Dialect    string            `json:"jsonSchemaDialect"`
	Paths      struct{}          `json:"paths"` // of which older readers want to see that there are none
	Components openAPIComponents `json:"components"`
}

type openAPIInfo struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

type openAPIComponents struct {
	Schemas *jsonschema.Properties `json:"schemas"`
}

// writeOpenAPI writes the schemas Platform and PlatformLayer. Since version 3.1 a schema is JSON Schema.
func writeOpenAPI(_ *Pipeline, e *engine, _ whole) ([]byte, error) {
	x := exporter{engine: e, at: "#/components/schemas/"}
	for _, as := range []whole{true, false} {
		x.reference(referred(e.schema), as)
	}
	if err := x.err(); err != nil {
		return nil, err
	}
	return indented(openAPI{
		Version:    "3.1.0",
		Info:       openAPIInfo{"Platform documents of trainyard", "v1alpha1"},
		Dialect:    jsonschema.Dialect,
		Components: openAPIComponents{&x.definitions},
	})
}
