//go:build linux

// Command gitops runs TrainJobs from Git in a sandbox.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/gitops"
)

func main() {
	log.SetLogger(logr.Discard()) // no logs are needed, because failures are returned as errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gitops:", err)
		stop()
		os.Exit(1)
	}
}

func command() *cobra.Command {
	g := &gitops.GitOps{}
	root := &cobra.Command{
		Use:   "gitops",
		Short: "Run TrainJobs from Git in a sandbox",
		Long: `Run TrainJobs from Git in a sandbox, which "sandbox up" has started.

"up" adds a Git server with an empty repository, trainyard-controller, and a TrainJobSource of the
repository. "sandbox down" removes them together with the sandbox. See examples/gitops/README.md.`,
		Example: `  gitops up
  git clone "$(gitops url)" jobs
  gitops push examples/gitops/jobs   # instead of git clone, git commit and git push
  gitops status
  gitops down`,
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			g.Progress = cmd.ErrOrStderr()
			if g.Dir == "" {
				g.Dir, err = cluster.DefaultDir()
			}
			return err
		},
	}
	root.PersistentFlags().StringVar(&g.Dir, "dir", "", "folder of the sandbox (default: the default folder of the command sandbox)")
	root.AddCommand(up(g), down(g), status(g), url(g), push(g))
	return root
}

func up(g *gitops.GitOps) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Add a Git server, a TrainJobSource and trainyard-controller to a running sandbox",
		Long: `Add a Git server, a TrainJobSource and trainyard-controller to a running sandbox.

A second "up" starts what is missing, and starts the controller again with the present source code.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := g.Up(cmd.Context()); err != nil {
				return err
			}
			return g.Status(cmd.OutOrStdout())
		},
	}
}

func down(g *gitops.GitOps) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the Git server and the controller, and remove the repository",
		Long: `Stop the Git server and the controller, and remove the repository. The objects stay in the
cluster, and TrainJobs that run are not stopped.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return g.Down() },
	}
}

func status(g *gitops.GitOps) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the servers and their addresses; fail if a server does not run",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.Status(cmd.OutOrStdout()) },
	}
}

func url(g *gitops.GitOps) *cobra.Command {
	return &cobra.Command{
		Use:   "url",
		Short: "Print the URL of the repository with its password",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := g.URL()
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), address)
			}
			return err
		},
	}
}

func push(g *gitops.GitOps) *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use:   "push FOLDER",
		Short: "Replace all files of the repository with the files of a folder, and push the commit",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pushed, err := g.Push(cmd.Context(), args[0], message)
			if err == nil && !pushed {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "The repository contains these files already: nothing was pushed")
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&message, "message", "m", "Change jobs", "message of the commit")
	return cmd
}
