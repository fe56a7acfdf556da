package main

import (
	"github.com/spf13/cobra"
)

func newRuntime(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runtime",
		Short: "Work with the training runtimes of a cluster",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRuntimeTest(s))
	return cmd
}
