package main

import (
	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator/schema"
)

func newSchema(s streams) *cobra.Command {
	var format string
	var layer bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the schema of platform documents, for editors and other tools",
		Long: `Print the schema of platform documents, for editors and other tools. The command needs no network, and
the schema refers to no other file.

Formats:
` + schemaFormats().help() + `

A schema checks keys, values and required fields. trainyard vet also checks rules about several values, and
whether names are in the catalogue of runtimes. In a document with environments, the schema does not
require fields that each environment can set.`,
		Example: `  # Let an editor complete and check platform.yaml
  trainyard schema > platform.schema.json

  # The same for layers, in which all fields are optional and null removes a field
  trainyard schema --layer > layer.schema.json

  # Check a document only with CUE
  trainyard schema --format cue > platform.cue
  cue vet -d '#Platform' platform.cue platform.yaml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return printSchema(s, format, layer) },
	}
	schemaFormats().addFlag(cmd, &format, "format", "", "jsonschema", "format of the schema")
	cmd.Flags().BoolVar(&layer, "layer", false, "print the schema of a layer, in which all fields are optional")
	return cmd
}

func printSchema(s streams, format string, layer bool) error {
	for _, f := range schema.Formats() {
		if f.Name == format && layer && !f.Layers {
			return usageErrorf("--layer wants --format jsonschema, got %s", format)
		}
	}
	text, err := newPipeline().Schema(format, layer)
	if err != nil {
		return err
	}
	_, err = s.out.Write(text)
	return err
}

func schemaFormats() choices {
	return choicesOf(schema.Formats(), func(f schema.Format) choice { return choice{f.Name, f.Doc} })
}
