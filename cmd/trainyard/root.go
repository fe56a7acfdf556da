package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/reports"
)

// streams are where a command reads and writes: data on out, words on err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, s streams) int {
	r := &reporter{streams: s, format: reports.Text.Name}
	root := newRoot(s, r)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return r.end(root.ExecuteContext(ctx))
}

func newRoot(s streams, r *reporter) *cobra.Command {
	root := &cobra.Command{
		Use:   "trainyard",
		Short: "Distributed MPI training on Kubernetes, described once and generated",
		Long: `trainyard turns one platform document in Git into everything that offers
distributed MPI training (Open MPI, Horovod, Intel MPI, MPICH, DeepSpeed) on Kubernetes and
OpenShift AI.

Data goes to standard output, words to standard error. Exit codes:
` + exitCodeHelp(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(newInit(s), newVet(s, r), newGenerate(s, r), newPublish(s, r), newExplain(s, r), newSchema(s), newRuntime(s), newPolicy(s, r), newDoctor(s), newVersion(s), newEvaluate(s))
	return root
}

// noCommand refuses a word that is not a command.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return oneOf("command", args[0], names)
}

// noArgs refuses positional arguments as a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.Flags().Lookup("file") != nil:
		return &usageError{fmt.Errorf("%q: want the document with -f, as in: %s -f %s", args[0], cmd.CommandPath(), args[0])}
	default:
		return &usageError{fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args[0])}
	}
}
