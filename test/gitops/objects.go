//go:build linux

package gitops

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/crds"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/gitserver"
	"github.com/trainyard/trainyard/test/upstream"
)

// platform is the platform document without the URL of the repository.
//
//go:embed platform.yaml
var platform []byte

// connect returns the administrator's connection to the sandbox.
func (g *GitOps) connect() (*rest.Config, client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig(g.Dir))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	c, err := upstream.Client(config)
	return config, c, err
}

// applyObjects applies the CRD of TrainJobSources, the Secret with the Git server's password, and the objects of the
// platform.
func (g *GitOps) applyObjects(ctx context.Context) error {
	config, c, err := g.connect()
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crds.TrainJobSource, crd); err != nil {
		return fmt.Errorf("reading the CRD: %w", err)
	}
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}, MaxTime: startTimeout}
	if _, err := envtest.InstallCRDs(config, options); err != nil {
		return fmt.Errorf("installing the CRD: %w", err)
	}
	objects, err := g.generate(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range append(objects, g.newSecret()) {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("sandbox"), client.ForceOwnership); err != nil {
			errs = append(errs, fmt.Errorf("applying %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return waitForQuotas(ctx, c)
}

// waitForQuotas waits until the status of each ResourceQuota in the tenant's namespace contains the usage of all
// limited resources, including the number of TrainJobs. The API server refuses TrainJobs as long as this usage is
// missing. In a new sandbox, waitForQuotas takes up to half a minute, because kube-controller-manager looks for new
// kinds of objects only every 30 s.
func waitForQuotas(ctx context.Context, c client.Client) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		var quotas corev1.ResourceQuotaList
		if err := c.List(ctx, &quotas, client.InNamespace(Namespace)); err != nil {
			return false, err
		}
		return !slices.ContainsFunc(quotas.Items, func(q corev1.ResourceQuota) bool { return len(q.Status.Used) < len(q.Spec.Hard) }), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the quota of namespace %s: %w", Namespace, err)
	}
	return nil
}

// generate returns the objects of the platform.
func (g *GitOps) generate(ctx context.Context) ([]*unstructured.Unstructured, error) {
	layer := fmt.Sprintf("spec: {tenants: {%s: {sources: {%s: {url: \"http://%s/%s.git\"}}}}}\n", Namespace, Source, g.addresses.Git, Source)
	platforms, err := generator.New(trainyard.CUE).Generate(ctx, generator.Request{Layers: []generator.Input{
		{Name: "platform.yaml", Text: platform}, {Name: "url.yaml", Text: []byte(layer)},
	}})
	if err != nil {
		return nil, fmt.Errorf("generating the platform: %w", err)
	}
	var objects []*unstructured.Unstructured
	for object := range platforms[0].Objects.All() {
		objects = append(objects, &unstructured.Unstructured{Object: object.Fields()})
	}
	return objects, nil
}

// newSecret returns the Secret with which the controller reads the repository.
func (g *GitOps) newSecret() *unstructured.Unstructured {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"stringData": map[string]any{"username": gitserver.User, "password": g.password},
	}}
	secret.SetAPIVersion("v1")
	secret.SetKind("Secret")
	secret.SetNamespace(Namespace)
	secret.SetName(secretName)
	secret.SetAnnotations(map[string]string{v1alpha1.HostsAnnotation: g.addresses.Git})
	return secret
}
