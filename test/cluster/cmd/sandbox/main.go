//go:build linux

// Command sandbox brings up a real Kubernetes cluster on this machine, and takes it down.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainyard/trainyard/test/cluster"
)

func main() {
	log.SetLogger(logr.Discard()) // what fails is told by errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		stop()
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "sandbox",
		Short: "Bring up a real Kubernetes cluster on this machine",
		Long: `Bring up a real Kubernetes cluster on this machine, with JobSet and Trainer on it.

Level "pods" has nodes that run pods, and needs root. Level "control-plane" has no nodes, and
level "scale" many that are simulated: pods seem to run. Both need no root.
Everything lies in one folder and listens on this machine alone; "down" puts the machine
back as it was. docs/sandbox.md tells more.`,
		Example: `  sandbox up                         # with a node that runs pods
  sandbox up --nodes 2               # with two of them
  sandbox up --level control-plane   # API server and controllers only
  sandbox up --level scale --nodes 500 --kueue
  export KUBECONFIG=$(sandbox kubeconfig)
  sandbox load .tools/images/openmpi.tar
  sandbox stop-node node2            # as a power failure would
  sandbox down`,
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
	}
	var o cluster.Options
	root.PersistentFlags().StringVar(&o.Dir, "dir", "", "folder of the cluster (default /var/lib/trainyard-sandbox, without root one in the user's cache)")
	root.AddCommand(up(&o), down(&o), status(&o), kubeconfig(&o), load(&o), stopNode(&o))
	return root
}

func up(o *cluster.Options) *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up, or what is missing of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Level, err = cluster.ParseLevel(level); err != nil {
				return err
			}
			o.Progress = cmd.ErrOrStderr()
			return cluster.Up(cmd.Context(), *o)
		},
	}
	cmd.Flags().StringVar(&level, "level", string(cluster.Pods), "how much of a cluster: control-plane, pods or scale")
	cmd.Flags().IntVar(&o.Nodes, "nodes", 0, "how many nodes (default those that are there, or 1, and 100 at level scale)")
	cmd.Flags().StringVar(&o.Trainer, "trainer", "trainer-2.3", "folder below tools/ that pins Trainer and JobSet")
	cmd.Flags().BoolVar(&o.Kueue, "kueue", false, "bring up Kueue too, in the version that fits Trainer's")
	return withDir(o, cmd)
}

func down(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:   "down",
		Short: "Take the cluster down, and put the machine back as it was",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cluster.Down(cmd.Context(), o.Dir, cmd.ErrOrStderr())
		},
	})
}

func status(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:   "status",
		Short: "Say which servers run, and where their logs are; fail if one does not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			servers, err := cluster.Status(o.Dir)
			if err != nil {
				return err
			}
			if len(servers) == 0 {
				return fmt.Errorf("%s has no cluster: run `sandbox up`", o.Dir)
			}
			for _, s := range servers {
				how := fmt.Sprintf("runs, process %d", s.PID)
				if s.PID == 0 {
					how, err = "does not run", errors.New("the cluster is not whole: `sandbox up` starts what is missing")
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%-28s %-22s %s\n", s.Name, how, s.Log)
			}
			return err
		},
	})
}

func kubeconfig(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), cluster.Kubeconfig(o.Dir))
			return err
		},
	})
}

func load(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:     "load ARCHIVE...",
		Short:   "Put images on all nodes",
		Example: "  sandbox load .tools/images/openmpi.tar",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, archives []string) error {
			return cluster.Load(cmd.Context(), o.Dir, archives...)
		},
	})
}

func stopNode(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:   "stop-node NAME",
		Short: "End a node and its pods as a power failure would",
		Long: `End a node and its pods as a power failure would: nobody is told, and packets to it get
no answer. "up" brings it back.`,
		Example: "  sandbox stop-node node2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cluster.StopNode(cmd.Context(), o.Dir, args[0])
		},
	})
}

// withDir fills in the folder before cmd runs.
func withDir(o *cluster.Options, cmd *cobra.Command) *cobra.Command {
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if o.Dir == "" {
			o.Dir, err = cluster.DefaultDir()
		}
		return err
	}
	return cmd
}
