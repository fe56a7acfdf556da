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
	log.SetLogger(logr.Discard()) // no logs are needed, because failures are returned as errors
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
level "scale" has many simulated nodes and pods. These two levels work without root.
All files are in one folder, and only this machine can connect to the servers. "down" restores
the machine's settings. See docs/sandbox.md.`,
		Example: `  sandbox check                      # can this machine run pods?
  sandbox up                         # with a node that runs pods
  sandbox up --nodes 2               # with two nodes
  sandbox up --level control-plane   # API server and controllers only
  sandbox up --level scale --nodes 500 --kueue
  export KUBECONFIG=$(sandbox kubeconfig)
  sandbox load .tools/images/openmpi.tar
  sandbox stop-node node2            # simulate a power failure
  sandbox down`,
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
	}
	var o cluster.Options
	root.PersistentFlags().StringVar(&o.Dir, "dir", "", "folder of the cluster (default: /var/lib/trainyard-sandbox for root, a folder in the user's cache for other users)")
	root.AddCommand(check(), up(&o), down(&o), status(&o), kubeconfig(&o), load(&o), stopNode(&o))
	return root
}

func check() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check whether this machine can run pods; fail with all reasons if it cannot",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return cluster.RequirePods() },
	}
}

func up(o *cluster.Options) *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up; if the cluster exists, start its missing servers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Level, err = cluster.ParseLevel(level); err != nil {
				return err
			}
			o.Progress = cmd.ErrOrStderr()
			return cluster.Up(cmd.Context(), *o)
		},
	}
	cmd.Flags().StringVar(&level, "level", string(cluster.Pods), "level of the cluster: control-plane, pods or scale")
	cmd.Flags().IntVar(&o.Nodes, "nodes", 0, "number of nodes (default: the number that the cluster already has; for a new cluster 1, or 100 at level scale)")
	cmd.Flags().StringVar(&o.Trainer, "trainer", "trainer-2.3", "folder below tools/ that pins the versions of Trainer and JobSet")
	cmd.Flags().BoolVar(&o.Kueue, "kueue", false, "bring up Kueue too, in the version that supports this Trainer")
	return withDir(o, cmd)
}

func down(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:   "down",
		Short: "Take the cluster down, and restore the machine's settings",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cluster.Down(cmd.Context(), o.Dir, cmd.ErrOrStderr())
		},
	})
}

func status(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:   "status",
		Short: "List the servers, their processes and their logs; fail if a server does not run",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			servers, err := cluster.Status(o.Dir)
			if err != nil {
				return err
			}
			if len(servers) == 0 {
				return fmt.Errorf("folder %s has no cluster: run `sandbox up`", o.Dir)
			}
			for _, s := range servers {
				text := fmt.Sprintf("runs, process %d", s.PID)
				if s.PID == 0 {
					text, err = "does not run", errors.New("the cluster is incomplete: run `sandbox up` to start the missing servers")
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%-28s %-22s %s\n", s.Name, text, s.Log)
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
			path := cluster.Kubeconfig(o.Dir)
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("folder %s has no kubeconfig: run `sandbox up`: %w", o.Dir, err)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	})
}

func load(o *cluster.Options) *cobra.Command {
	return withDir(o, &cobra.Command{
		Use:     "load ARCHIVE...",
		Short:   "Load images on all nodes",
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
		Short: "Stop a node and its pods as a power failure would",
		Long: `Stop a node and its pods as a power failure would: processes are killed without notice, and
packets to the node get no reply. "up" brings it back.`,
		Example: "  sandbox stop-node node2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cluster.StopNode(cmd.Context(), o.Dir, args[0])
		},
	})
}

// withDir makes the command use the default folder of the cluster if the flag --dir is not set.
func withDir(o *cluster.Options, cmd *cobra.Command) *cobra.Command {
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if o.Dir == "" {
			o.Dir, err = cluster.DefaultDir()
		}
		return err
	}
	return cmd
}
