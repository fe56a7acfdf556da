package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
)

// fitFlags ask how large TrainJobs can be.
type fitFlags struct {
	wanted bool
	format string
}

func (f *fitFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wanted, "fit", false, "print how many nodes a TrainJob of each runtime can have in the namespace of each tenant that lists it")
	cmd.Flags().StringVarP(&f.format, "output", "o", "text", "print format of --fit: text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses flags that do not go together.
func (f *fitFlags) check(cmd *cobra.Command, r *reporter) error {
	switch {
	case !f.wanted && cmd.Flags().Changed("output"):
		return &usageError{errors.New("-o is the format of what --fit prints: add --fit")}
	case f.wanted && !r.words():
		return &usageError{errors.New("--fit prints to standard output, where the report would be: leave --report out")}
	}
	return oneOf("-o", f.format, []string{"text", "json"})
}

// print prints what fits, and returns what never does as an error.
func (f *fitFlags) print(ctx context.Context, s streams, input inputFlags) error {
	request, err := input.request(s.in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(request.Layers, isRuntimes) {
		return &usageError{errors.New("--fit is about a platform document, and training runtimes have no tenants")}
	}
	fits, err := newPipeline().Fits(ctx, request)
	switch {
	case f.format == "json":
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return errors.Join(encoder.Encode(append([]generator.Fit{}, fits...)), err)
	case len(fits) > 0:
		return errors.Join(printFits(s.out, fits), err)
	case err == nil:
		fmt.Fprintf(s.err, "%s: no tenant lists a runtime\n", names(request))
	}
	return err
}

// column is one of the table of fits.
type column struct {
	title string
	cell  func(generator.Fit) string
}

// printFits prints a table, with environments and queues where there are any.
func printFits(w io.Writer, fits []generator.Fit) error {
	columns := []column{
		{"ENVIRONMENT", func(f generator.Fit) string { return f.Environment }},
		{"TENANT", func(f generator.Fit) string { return f.Tenant }},
		{"RUNTIME", func(f generator.Fit) string { return f.Runtime }},
		{"QUEUE", func(f generator.Fit) string { return f.Queue }},
		{"FITS", func(f generator.Fit) string { return string(f.Fits) }},
		{"NODES", func(f generator.Fit) string { return fmt.Sprint(f.Nodes) }},
		{"DEFAULT", func(f generator.Fit) string { return fmt.Sprint(f.Default) }},
		{"BOUND", func(f generator.Fit) string { return f.Bound }},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool { // a column that is empty says nothing
		return !slices.ContainsFunc(fits, func(f generator.Fit) bool { return c.cell(f) != "" })
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.title
	}
	fmt.Fprintln(table, strings.Join(line, "\t"))
	for _, f := range fits {
		for i, c := range columns {
			line[i] = c.cell(f)
		}
		fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	return table.Flush()
}
