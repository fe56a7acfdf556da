package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trainyard/trainyard/api/jobs"
)

// clusterFlags say which cluster, as kubectl has them.
type clusterFlags struct{ kubeconfig, context, namespace string }

func (f *clusterFlags) add(cmd *cobra.Command) {
	f.addWhich(cmd)
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace (default the context's)")
}

// addWhich adds those that say which cluster.
func (f *clusterFlags) addWhich(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig (default $KUBECONFIG, ~/.kube/config, or the pod's service account)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default the current one)")
	_ = cmd.MarkFlagFilename("kubeconfig")
}

// clientRate is how many requests a second a command may make, on average: client-go's default
// of 5 makes people wait.
const clientRate = 50

// connect finds the cluster that the flags mean, and fills in the namespace.
func (f *clusterFlags) connect() (jobs.Jobs, error) {
	config, namespace, err := f.config()
	if err != nil {
		return jobs.Jobs{}, err
	}
	if f.namespace == "" {
		f.namespace = namespace
	}
	return jobs.Connect(config)
}

// config says how to reach the cluster that the flags mean, and which namespace its context has.
func (f *clusterFlags) config() (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	config, err = loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) || clientcmd.IsContextNotFound(err) || errors.Is(err, rest.ErrNotInCluster) {
		return nil, "", &usageError{fmt.Errorf("no cluster to talk to: %w; name one with --kubeconfig and --context", err)}
	}
	if err == nil {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", &usageError{fmt.Errorf("reading the kubeconfig: %w", err)}
	}
	config.QPS, config.Burst, config.WarningHandler = clientRate, 2*clientRate, rest.NoWarnings{}
	return config, namespace, nil
}
