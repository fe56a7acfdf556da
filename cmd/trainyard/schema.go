package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
)

func newSchema(s streams) *cobra.Command {
	var format string
	var layer bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the schema of platform documents, for editors and other tools",
		Long: `Print the schema of platform documents, for editors and other tools. It needs no network, and refers to
nothing outside of itself.

Formats:
` + schemaHelp() + `
A schema knows keys, values and what is required. What takes two values to judge, or the catalogue
of runtimes, trainyard vet finds. A document with environments may leave to them what is required.`,
		Example: `  # Let an editor complete and check platform.yaml
  trainyard schema > platform.schema.json

  # And the layers over it, which need not be complete, and take away with null
  trainyard schema --layer > layer.schema.json

  # Check a document with CUE alone
  trainyard schema --format cue > platform.cue
  cue vet -d '#Platform' platform.cue platform.yaml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return printSchema(s, format, layer) },
	}
	cmd.Flags().StringVar(&format, "format", "jsonschema", "form of the schema: "+strings.Join(schemaNames(), ", "))
	cmd.Flags().BoolVar(&layer, "layer", false, "the schema of a layer, which need not be complete")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(schemaNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func printSchema(s streams, format string, layer bool) error {
	if err := oneOf("--format", format, schemaNames()); err != nil {
		return err
	}
	for _, f := range generator.SchemaFormats() {
		if f.Name == format && layer && !f.Layers {
			return &usageError{fmt.Errorf("--layer is about jsonschema, not %s", format)}
		}
	}
	text, err := newPipeline().Schema(format, layer)
	if err != nil {
		return err
	}
	_, err = s.out.Write(text)
	return err
}

func schemaNames() []string {
	var names []string
	for _, f := range generator.SchemaFormats() {
		names = append(names, f.Name)
	}
	return names
}

func schemaHelp() string {
	var b strings.Builder
	for _, f := range generator.SchemaFormats() {
		fmt.Fprintf(&b, "  %-10s %s\n", f.Name, f.Doc)
	}
	return b.String()
}
