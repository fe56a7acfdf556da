package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/cmd/internal/report"
)

// streams are the standard streams of a command. The field "out" receives data, and the field "err" receives messages.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func run(ctx context.Context, args []string, s streams) int {
	r := &reporter{streams: s, format: report.Text.Name}
	root := newRoot(s, r)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	cmd, err := root.ExecuteContextC(ctx)
	return r.finish(cmd.CommandPath(), err)
}

func newRoot(s streams, r *reporter) *cobra.Command {
	root := newGroup(&cobra.Command{
		Use:   "trainyard",
		Short: "Generate a Kubernetes platform for distributed MPI training from one document",
		Long: `trainyard generates a platform for distributed MPI training (Open MPI, Horovod, Intel MPI, MPICH,
DeepSpeed) on Kubernetes and OpenShift AI. You describe the platform in one document in Git, and
trainyard generates its Kubernetes objects.

Data goes to standard output, and messages go to standard error. Exit codes:
` + exitCodeHelp(),
		Example: `  # Start a platform document
  trainyard init

  # Check it, and see which objects it becomes
  trainyard vet -f platform.yaml
  trainyard generate -f platform.yaml --env dev`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}, newInit(s), newVet(s, r), newGenerate(s, r), newPublish(s, r), newExplain(s, r), newSchema(s), newRuntime(s), newWhy(s), newPolicy(s, r), newSource(s), newDoctor(s), newVersion(s), newEvaluate(s))
	root.SetFlagErrorFunc(flagError)
	return root
}

// newGroup returns a command with subcommands. Without a subcommand, the command prints its help.
func newGroup(group *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	group.AddCommand(commands...)
	group.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	group.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				names = append(names, c.Name())
			}
		}
		return usageErrorf("command %q: %w", args[0], checkAllowed(args[0], names))
	}
	return group
}
