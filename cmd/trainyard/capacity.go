package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator/capacity"
)

// capacityFlags are the flags that make "trainyard vet" print how many nodes a TrainJob can have.
type capacityFlags struct {
	enabled bool
	format  string
}

func (f *capacityFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.enabled, "fit", false, "for each tenant and each runtime that it lists, print how many nodes a TrainJob can have")
	textOrJSON.addFlag(cmd, &f.format, "output", "o", "text", "print format of --fit")
}

func (f *capacityFlags) check(cmd *cobra.Command, r *reporter) error {
	switch {
	case !f.enabled && cmd.Flags().Changed("output"):
		return usageErrorf("--output is the print format of --fit: add --fit")
	case f.enabled && !r.isText():
		return usageErrorf("--fit and the report both print to standard output: leave --report out")
	}
	return nil
}

func (f *capacityFlags) print(ctx context.Context, s streams, input inputFlags) error {
	request, err := input.request(s.in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(request.Layers, isRuntimes) {
		return usageErrorf("--fit prints numbers of nodes for each tenant: want a platform document with -f, got training runtimes")
	}
	capacities, err := newPipeline().Capacity(ctx, request)
	switch {
	case err != nil:
		return err
	case f.format == "json":
		return printJSON(s.out, append([]capacity.Record{}, capacities...))
	case len(capacities) == 0:
		fmt.Fprintf(s.err, "%s: no tenant lists a runtime\n", names(request))
		return nil
	}
	return printCapacities(s.out, capacities)
}

type column struct {
	title string
	cell  func(capacity.Record) string
}

// printCapacities prints a table. It omits each column that is empty in all rows. For example, it omits the column
// QUEUE if no row has a queue.
func printCapacities(w io.Writer, capacities []capacity.Record) error {
	columns := []column{
		{"ENVIRONMENT", func(f capacity.Record) string { return f.Environment }},
		{"TENANT", func(f capacity.Record) string { return f.Tenant }},
		{"RUNTIME", func(f capacity.Record) string { return f.Runtime }},
		{"QUEUE", func(f capacity.Record) string { return f.Queue }},
		{"FITS", func(f capacity.Record) string { return string(f.Fits) }},
		{"NODES", func(f capacity.Record) string { return fmt.Sprint(f.Nodes) }},
		{"DEFAULT", func(f capacity.Record) string { return fmt.Sprint(f.Default) }},
		{"BOUND", func(f capacity.Record) string { return f.Bound }},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(capacities, func(f capacity.Record) bool { return c.cell(f) != "" })
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.title
	}
	fmt.Fprintln(table, strings.Join(line, "\t"))
	for _, f := range capacities {
		for i, c := range columns {
			line[i] = c.cell(f)
		}
		fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	return table.Flush()
}
