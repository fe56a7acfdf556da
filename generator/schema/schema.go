// Package schema exports the schema of platform documents, for editors, for other tools and for readers.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/evaluate"
)

// Format is one of the formats in which the schema can be exported, such as JSON Schema or OpenAPI.
type Format struct {
	Name   string
	Doc    string // the purpose of the format
	Layers bool   // whether the format also has a schema of layers
	write  func(e *evaluate.Evaluator, complete bool) ([]byte, error)
}

// Formats lists the formats. Help texts show the formats in this order.
func Formats() []Format {
	return []Format{
		{"jsonschema", "JSON Schema 2020-12, for editors and validators", true, writeJSONSchema},
		{"openapi", "OpenAPI 3.1, with the schemas Platform and PlatformLayer", false, writeOpenAPI},
		{"cue", "CUE in one file, for cue vet", false, writeCUE},
		{"markdown", "the reference of all fields, for people", false, writeMarkdown},
	}
}

// Write returns the schema of whole documents in the given format. If the argument "layers" is true, Write returns the
// schema of layers instead. A layer is one file of a document that consists of several files, and can be incomplete.
func Write(e *evaluate.Evaluator, format string, layers bool) ([]byte, error) {
	formats := Formats()
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == format })
	switch {
	case i < 0:
		return nil, fmt.Errorf("unknown schema format %q", format)
	case layers && !formats[i].Layers:
		return nil, fmt.Errorf("a separate schema for the layers of a document is not available in the format %s", format)
	}
	return formats[i].write(e, !layers)
}

func definition(schema cue.Value, name string) cue.Value {
	root, _ := schema.ReferencePath()
	return root.LookupPath(cue.MakePath(cue.Def(name)))
}

// writeIndented writes JSON with indentation, and does not escape the character "<" in patterns.
func writeIndented(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return b.Bytes(), err
}
