package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/trainyard/trainyard/cmd/internal/build"
	"github.com/trainyard/trainyard/cmd/trainyard/internal/doctor"
)

type doctorFlags struct {
	cluster clusterFlags
	argocd  string
	output  string
}

func newDoctor(s streams) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether kustomize on this machine can run trainyard-fn",
		Long: `Check whether kustomize on this machine can run trainyard-fn, and whether trainyard policy test finds
trainyard-policy, and print what is missing.

The command builds a small platform in a temporary folder with kustomize, once with and once without the
flags that functions need.
With --argocd-namespace, it also checks the settings of Argo CD in a cluster.

The exit code is 7 if anything is missing.`,
		Example: `  # Check this machine
  trainyard doctor

  # Check Argo CD as well
  trainyard doctor --argocd-namespace argocd --context prod

  # For a program
  trainyard doctor -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	cmd.Flags().StringVar(&f.argocd, "argocd-namespace", "", "namespace of Argo CD; if given, the command checks the settings of Argo CD there (default none)")
	f.cluster.addConnection(cmd)
	addOutput(cmd, &f.output, textOrJSON)
	return cmd
}

func (f doctorFlags) run(ctx context.Context, s streams) error {
	host := doctor.Host{Build: build.String(), Evaluator: findEvaluator}
	switch {
	case f.argocd != "":
		config, _, err := f.cluster.config()
		if err != nil {
			return err
		}
		host.ArgoCD = func(ctx context.Context) (string, error) { return buildOptions(ctx, config, f.argocd) }
	case f.cluster != (clusterFlags{}):
		return usageErrorf("--kubeconfig and --context apply only with --argocd-namespace: add --argocd-namespace")
	}
	checks, err := host.Checks(ctx)
	if err != nil {
		return err
	}
	if err := f.print(s, checks); err != nil {
		return err
	}
	var missing int
	for _, c := range checks {
		if c.Status == doctor.Missing {
			missing++
		}
	}
	if missing > 0 {
		return exitErrorf(exitFailed, "%s failed", count(missing, "check"))
	}
	return nil
}

func (f doctorFlags) print(s streams, checks []doctor.Check) error {
	if f.output == "json" {
		return printJSON(s.out, map[string]any{"checks": checks})
	}
	return printList(s.out, f.output, checks, func(c doctor.Check) string {
		return fmt.Sprintf("%-8s %-22s %s", c.Status, c.Name, c.Message)
	})
}

// buildOptions returns the flags that Argo CD passes to kustomize. The ConfigMap argocd-cm contains these flags in the
// key kustomize.buildOptions.
func buildOptions(ctx context.Context, config *rest.Config, namespace string) (string, error) {
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return "", fmt.Errorf("connecting to the cluster: %w", err)
	}
	var settings struct{ Data map[string]string }
	text, err := client.Get().Namespace(namespace).Resource("configmaps").Name("argocd-cm").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("namespace %s has no ConfigMap argocd-cm: name the namespace of Argo CD with --argocd-namespace", namespace)
	}
	if err == nil {
		err = json.Unmarshal(text, &settings)
	}
	if err != nil {
		return "", fmt.Errorf("reading argocd-cm: %w", err)
	}
	return settings.Data["kustomize.buildOptions"], nil
}
