package main

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trainyard/trainyard/api/jobs"
)

// clusterFlags select a cluster and a namespace. The flags have the same names as in kubectl.
type clusterFlags struct{ kubeconfig, context, namespace string }

func (f *clusterFlags) addConnection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig (default $KUBECONFIG, ~/.kube/config, or the pod's service account)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default the current context)")
	_ = cmd.MarkFlagFilename("kubeconfig")
}

func (f *clusterFlags) addNamespace(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace (default the namespace of the context)")
}

// clientRate is the maximum average number of requests to the API server per second. With client-go's default of 5
// requests per second, users would have to wait longer for the results of commands.
const clientRate = 50

// connect connects to the cluster. If f.namespace is empty, connect sets f.namespace to the namespace
// of the selected context.
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

func (f *clusterFlags) config() (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	config, err = loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err), errors.Is(err, rest.ErrNotInCluster):
		return nil, "", inputErrorf("finding a cluster: no kubeconfig names a cluster; set --kubeconfig and --context")
	case clientcmd.IsContextNotFound(err):
		return nil, "", inputErrorf("finding a cluster: %w; choose a cluster with --kubeconfig and --context", err)
	case err == nil:
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", inputErrorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst, config.WarningHandler = clientRate, 2*clientRate, rest.NoWarnings{}
	return config, namespace, nil
}
