package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
)

func newVet(s streams) *cobra.Command {
	var f inputFlags
	cmd := &cobra.Command{
		Use:   "vet",
		Short: "Check a platform document and write nothing",
		Long: `Check a platform document in all its environments: every problem at once, one line per
cause, each with the place in the file, what is wrong and what is allowed. What works, but
may surprise, is a note. With --report json both are data, on standard output.`,
		Example: `  # Check a document before committing it
  trainyard vet -f platform.yaml

  # Check what another layer makes of it
  trainyard vet -f platform.yaml -f trainer-2.1.yaml

  # Check in CI, and keep the report
  trainyard vet -f platform.yaml --report json > report.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return vet(cmd.Context(), s, f) },
	}
	f.add(cmd)
	return cmd
}

func vet(ctx context.Context, s streams, f inputFlags) error {
	request, err := f.request(s.in)
	if err != nil {
		return err
	}
	platforms, err := generator.New(trainyard.CUE).Generate(ctx, request)
	if f.report == "json" {
		return reportJSON(s.out, err, notesOf(platforms))
	}
	if err != nil {
		return err
	}
	printNotes(s.err, notesOf(platforms))
	fmt.Fprintf(s.err, "%s: no problems, makes %s\n", names(request), made(platforms))
	return nil
}

// made says how many objects come of a document, by environment.
func made(platforms []generator.Platform) string {
	total, each := 0, make([]string, len(platforms))
	for i, p := range platforms {
		total += p.Objects.Len()
		each[i] = fmt.Sprintf("%d in %s", p.Objects.Len(), p.Environment)
	}
	if len(platforms) == 1 && platforms[0].Environment == "" {
		return count(total, "object")
	}
	return fmt.Sprintf("%s: %s", count(total, "object"), strings.Join(each, ", "))
}
