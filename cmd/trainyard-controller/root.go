package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trainyard/trainyard/cmd/internal/build"
	"github.com/trainyard/trainyard/controller"
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func asUsage(err error, target **usageError) bool { return errors.As(err, target) }

type flags struct {
	config              string
	kubeconfig, context string
	logFormat           string
	allow, deny         []string
	options             controller.Options
}

func newRoot(messages io.Writer) *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:   "trainyard-controller",
		Short: "Run the TrainJobs of Git repositories, and report the state of TrainJobs",
		Long: `trainyard-controller runs in a cluster. For each TrainJobSource, it fetches a Git repository, and
creates the TrainJobs that the repository contains. For each TrainJob, it writes the phase, and the
cause of a failure or of a wait, into annotations and events.

Messages go to standard error. Exit codes:
  0  stopped by a signal
  1  internal error, or the cluster could not be reached
  2  wrong usage, such as an unknown flag`,
		Example: `  # In a pod: use the ServiceAccount of the pod
  trainyard-controller

  # On a workstation: use a kubeconfig, and serve no metrics, health checks and webhooks
  trainyard-controller --kubeconfig controller.kubeconfig --metrics-address= --health-address= --webhook-address=

  # Handle the TrainJobSources with the label trainyard.dev/shard=a
  trainyard-controller --shard a

  # Only report the state of TrainJobs
  trainyard-controller --controllers trainjob

  # Read settings from a file, which can contain lines such as "workers: 8"
  trainyard-controller --config controller.yaml

  # Allow http for one Git server, and refuse all Git servers in a network
  trainyard-controller --allow-http git.git.svc:80 --deny-address 10.20.0.0/16`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       build.String(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageErrorf("unexpected argument %q: the command has only flags", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, messages) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	f.add(root)
	return root
}

func (f *flags) add(cmd *cobra.Command) {
	set, o := cmd.Flags(), &f.options
	set.StringVar(&f.config, "config", "", "path of a YAML file with settings: its keys are the names of flags without the leading --; a flag on the command line takes precedence")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig (default $KUBECONFIG, ~/.kube/config, or the pod's service account)")
	set.StringVar(&f.context, "context", "", "context of the kubeconfig (default the current context)")
	set.StringSliceVar(&o.Controllers, "controllers", controller.Names(), "controllers that run: trainjob reports the state of TrainJobs, and trainjobsource runs the TrainJobs of Git repositories")
	set.StringVar(&o.Shard, "shard", "", "handle the TrainJobSources whose label trainyard.dev/shard has this value; without this flag, handle the TrainJobSources that do not have the label; all TrainJobSources of a namespace must have the same value of the label")
	set.IntVar(&o.Workers, "workers", 4, "number of objects of each kind (TrainJobSource and TrainJob) that are handled at the same time")
	set.Float32Var(&o.QPS, "kube-api-qps", 200, "requests to the API server per second, on average")
	set.IntVar(&o.Burst, "kube-api-burst", 400, "maximum number of requests to the API server in a burst, above the average of --kube-api-qps")
	set.StringVar(&o.MetricsAddress, "metrics-address", ":8080", "address of the metrics, as HOST:PORT; empty for no metrics")
	set.StringVar(&o.HealthAddress, "health-address", ":8081", "address of the health checks /healthz and /readyz, as HOST:PORT; empty for no health checks")
	set.StringVar(&o.HookAddress, "webhook-address", ":8082", "address for webhooks of Git servers (POST /hook/NAMESPACE/NAME), as HOST:PORT; empty for no webhooks")
	set.BoolVar(&o.LeaderElection, "leader-elect", true, "let only one of several replicas work; the lease is in namespace trainyard-system")
	set.BoolVar(&o.ReadOnly, "read-only", false, "only observe TrainJobs and serve metrics: write nothing to the cluster, and ignore TrainJobSources")
	set.StringSliceVar(&o.Network.PlainHTTPHosts, "allow-http", nil, "hosts, as HOST:PORT, from which to fetch over http, without encryption")
	set.StringSliceVar(&f.allow, "allow-address", nil, "networks, such as 127.0.0.0/8, whose Git servers are allowed although they are refused by default")
	set.StringSliceVar(&f.deny, "deny-address", nil, "networks, such as 10.0.0.0/8, whose Git servers are refused")
	set.StringVar(&f.logFormat, "log-format", "text", "format of messages: text, json")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	_ = cmd.MarkFlagFilename("kubeconfig")
}

func (f *flags) run(cmd *cobra.Command, messages io.Writer) error {
	if f.config != "" {
		if err := readConfig(f.config, cmd.Flags()); err != nil {
			return err
		}
	}
	if err := checkFlags(cmd.Flags()); err != nil {
		return err
	}
	o := f.options
	if err := o.Check(); err != nil {
		return &usageError{err}
	}
	o.Network.Allow, o.Network.Deny = parseNetworks(f.allow), parseNetworks(f.deny)
	handler := f.newHandler(messages)
	o.Log = logr.FromSlogHandler(handler)
	ctrl.SetLogger(o.Log)
	klog.SetSlogLogger(slog.New(handler))
	cluster, err := f.cluster()
	if err != nil {
		return err
	}
	o.Version, o.Revision = build.Version()
	return controller.Run(cmd.Context(), cluster, o)
}

func (f *flags) newHandler(messages io.Writer) slog.Handler {
	if f.logFormat == "json" {
		return slog.NewJSONHandler(messages, nil)
	}
	return slog.NewTextHandler(messages, nil)
}

// parseNetworks converts texts to networks. The function checkNetwork has already refused invalid
// texts, so parseNetworks returns no error.
func parseNetworks(texts []string) (networks []netip.Prefix) {
	for _, text := range texts {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	return networks
}

func (f *flags) cluster() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) || clientcmd.IsContextNotFound(err) || errors.Is(err, rest.ErrNotInCluster):
		return nil, usageErrorf("finding a cluster: %w; choose a cluster with --kubeconfig and --context", err)
	case err != nil:
		return nil, usageErrorf("reading the kubeconfig: %w", err)
	}
	return config, nil
}
