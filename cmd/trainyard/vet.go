package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
)

func newVet(s streams) *cobra.Command {
	var f inputFlags
	cmd := &cobra.Command{
		Use:   "vet",
		Short: "Check a platform document and write nothing",
		Long: `Check a platform document: every problem at once, one line per cause, each with the
place in the file, what is wrong and what is allowed. With --report json the problems are
data, on standard output.`,
		Example: `  # Check a document before committing it
  trainyard vet -f platform.yaml

  # Check in CI, and keep the report
  trainyard vet -f platform.yaml --report json > report.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return vet(cmd.Context(), s, f) },
	}
	f.add(cmd)
	return cmd
}

func vet(ctx context.Context, s streams, f inputFlags) error {
	input, err := f.read(s.in)
	if err != nil {
		return err
	}
	set, err := generator.New(trainyard.CUE).Generate(ctx, input)
	if err := reportProblems(s.out, f.report, err); err != nil || f.report == "json" {
		return err
	}
	fmt.Fprintf(s.err, "%s: no problems, makes %s\n", input.Name, count(set.Len(), "object"))
	return nil
}
