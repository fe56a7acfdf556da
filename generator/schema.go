package generator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"cuelang.org/go/cue"
)

// SchemaFormat is a form in which the schema of documents can be had.
type SchemaFormat struct {
	Name   string
	Doc    string // what it is for
	Layers bool   // whether it can tell layers from whole documents
	write  func(p *Pipeline, e *engine, as whole) ([]byte, error)
}

// SchemaFormats lists them, in the order that help text shows.
func SchemaFormats() []SchemaFormat {
	return []SchemaFormat{
		{"jsonschema", "JSON Schema 2020-12, for editors and validators", true, writeJSONSchema},
		{"openapi", "OpenAPI 3.1, with the schemas Platform and PlatformLayer", false, writeOpenAPI},
		{"cue", "CUE in one file, for cue vet", false, writeCUE},
		{"markdown", "the reference of all fields, for people", false, writeMarkdown},
	}
}

// Schema writes the schema of documents, or of layers, which need not be complete.
func (p *Pipeline) Schema(format string, layers bool) ([]byte, error) {
	formats := SchemaFormats()
	i := slices.IndexFunc(formats, func(f SchemaFormat) bool { return f.Name == format })
	if i < 0 || layers && !formats[i].Layers {
		return nil, fmt.Errorf("no schema of format %q, layers %t", format, layers)
	}
	e, err := newEngine(p.definitions)
	if err != nil {
		return nil, err
	}
	return formats[i].write(p, e, !whole(layers))
}

// definition is a definition of the package that a schema is written in.
func definition(schema cue.Value, name string) cue.Value {
	root, _ := schema.ReferencePath()
	return root.LookupPath(cue.MakePath(cue.Def(name)))
}

// indented writes JSON for people: patterns keep their "<".
func indented(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return b.Bytes(), err
}
