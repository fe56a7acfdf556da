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

// doctorFlags say what is looked at, and how it is printed.
type doctorFlags struct {
	cluster clusterFlags
	argocd  string
	output  string
}

func newDoctor(s streams) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether kustomize can run trainyard-fn here, and what is missing",
		Long: `Say whether kustomize can run trainyard-fn here, and what is missing.

It builds a tiny platform in a folder of its own, with the flags that functions need and without
them, and says what this host does. With --argocd-namespace it reads Argo CD's settings in a cluster.
It ends with 7 where something is missing.`,
		Example: `  # This host
  trainyard doctor

  # Argo CD as well
  trainyard doctor --argocd-namespace argocd --context prod

  # For a program
  trainyard doctor -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	cmd.Flags().StringVar(&f.argocd, "argocd-namespace", "", "namespace of the Argo CD whose settings are read; none by default")
	f.cluster.addWhich(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "print format: text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f doctorFlags) run(ctx context.Context, s streams) error {
	if err := oneOf("--output", f.output, []string{"text", "json"}); err != nil {
		return err
	}
	host := doctor.Host{Build: build.Words()}
	switch config, _, err := f.cluster.config(); {
	case f.argocd == "" && f.cluster != (clusterFlags{}):
		return &usageError{fmt.Errorf("--kubeconfig and --context are of use with --argocd-namespace")}
	case f.argocd == "":
	case err != nil:
		return err
	default:
		host.ArgoCD = func(ctx context.Context) (string, error) { return buildOptions(ctx, config, f.argocd) }
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
		return &failedError{what: count(missing, "thing") + " missing"}
	}
	return nil
}

func (f doctorFlags) print(s streams, checks []doctor.Check) error {
	if f.output == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"checks": checks})
	}
	for _, c := range checks {
		if _, err := fmt.Fprintf(s.out, "%-8s %-22s %s\n", c.Status, c.Name, c.Says); err != nil {
			return err
		}
	}
	return nil
}

// buildOptions are the flags that Argo CD gives to kustomize.
func buildOptions(ctx context.Context, config *rest.Config, namespace string) (string, error) {
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return "", fmt.Errorf("preparing to connect to the cluster: %w", err)
	}
	text, err := client.Get().Namespace(namespace).Resource("configmaps").Name("argocd-cm").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("namespace %s has no ConfigMap argocd-cm: is Argo CD there?", namespace)
	}
	if err != nil {
		return "", fmt.Errorf("reading argocd-cm: %w", err)
	}
	var settings struct{ Data map[string]string }
	if err := json.Unmarshal(text, &settings); err != nil {
		return "", fmt.Errorf("reading argocd-cm: %w", err)
	}
	return settings.Data["kustomize.buildOptions"], nil
}
