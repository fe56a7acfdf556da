package sources

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Connect creates a client from a configuration. Connect sends no request, and fails only if the configuration is
// invalid.
func Connect(config *rest.Config) (Sources, error) {
	scheme := runtime.NewScheme()
	err := v1alpha1.AddToScheme(scheme)
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &v1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, clientErr := rest.RESTClientFor(config)
	if err := errors.Join(err, clientErr); err != nil {
		return Sources{}, fmt.Errorf("preparing to connect to the cluster: %w", err)
	}
	return New(restCluster{client}), nil
}

// restCluster implements Cluster with a REST client. A clientset or the client of controller-runtime would make every
// command slower, because both register all types of Kubernetes when a program starts.
type restCluster struct{ client rest.Interface }

const (
	resource = "trainjobsources"
	pageSize = "500" // the maximum number of objects in one response
)

// List implements Cluster.
func (c restCluster) List(ctx context.Context, namespace string) ([]v1alpha1.TrainJobSource, error) {
	var all []v1alpha1.TrainJobSource
	for next := ""; ; {
		request := c.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).Param("limit", pageSize)
		if next != "" {
			request.Param("continue", next)
		}
		var page v1alpha1.TrainJobSourceList
		if err := request.Do(ctx).Into(&page); err != nil {
			return nil, fmt.Errorf("listing TrainJobSources: %w", err)
		}
		all = append(all, page.Items...)
		if next = page.Continue; next == "" {
			return all, nil
		}
	}
}

// Get implements Cluster.
func (c restCluster) Get(ctx context.Context, key types.NamespacedName) (source v1alpha1.TrainJobSource, err error) {
	request := c.client.Get().Namespace(key.Namespace).Resource(resource).Name(key.Name)
	if err = request.Do(ctx).Into(&source); err != nil {
		err = fmt.Errorf("reading TrainJobSource %s: %w", key, err)
	}
	return source, err
}

// Patch implements Cluster.
func (c restCluster) Patch(ctx context.Context, key types.NamespacedName, patch []byte) (source v1alpha1.TrainJobSource, err error) {
	request := c.client.Patch(types.MergePatchType).Namespace(key.Namespace).Resource(resource).Name(key.Name).Body(patch)
	if err = request.Do(ctx).Into(&source); err != nil {
		err = fmt.Errorf("changing TrainJobSource %s: %w", key, err)
	}
	return source, err
}
