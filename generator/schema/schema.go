// Package schema exports the schema of platform documents: for editors, for other tools and as a reference.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
)

// Format is a format of the exported schema.
type Format struct {
	Name   string
	Doc    string // its purpose
	Layers bool   // whether it has a schema of layers
	write  func(e *evaluate.Evaluator, complete bool) ([]byte, error)
}

// Formats lists the formats in the order of help texts.
func Formats() []Format {
	return []Format{
		{"jsonschema", "JSON Schema 2020-12, for editors and validators", true, writeJSONSchema},
		{"openapi", "OpenAPI 3.1, with the schemas Platform and PlatformLayer", false, writeOpenAPI},
		{"cue", "CUE in one file, for cue vet", false, writeCUE},
		{"markdown", "the reference of all fields, for people", false, writeMarkdown},
	}
}

// Write writes the schema of whole documents, or of layers, which can be incomplete.
func Write(e *evaluate.Evaluator, format string, layers bool) ([]byte, error) {
	formats := Formats()
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == format })
	if i < 0 || layers && !formats[i].Layers {
		return nil, fmt.Errorf("no schema of format %q, layers %t", format, layers)
	}
	return formats[i].write(e, !layers)
}

// definition returns a definition of the package that defines a schema.
func definition(schema cue.Value, name string) cue.Value {
	root, _ := schema.ReferencePath()
	return root.LookupPath(cue.MakePath(cue.Def(name)))
}

// indented writes JSON for people, with "<" in patterns left as it is.
func indented(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return b.Bytes(), err
}
