package jobs

import (
	"context"
	"fmt"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Jobs is a client for the TrainJobs of one cluster, with the permissions of one user.
//
// Jobs uses the REST clients of client-go. The clientset of client-go and the client of controller-runtime would make
// every command slower, because they register all types of Kubernetes when a program starts.
type Jobs struct{ core, trainer, authorization rest.Interface }

// Connect creates a client from a configuration. Connect sends no request, and fails only if the configuration is
// invalid.
func Connect(config *rest.Config) (Jobs, error) {
	var all Jobs
	for version, into := range map[schema.GroupVersion]*rest.Interface{
		corev1.SchemeGroupVersion: &all.core, trainer.GroupVersion: &all.trainer, authorizationv1.SchemeGroupVersion: &all.authorization,
	} {
		client, err := restClient(config, version)
		if err != nil {
			return all, fmt.Errorf("preparing to connect to the cluster: %w", err)
		}
		*into = client
	}
	return all, nil
}

func restClient(config *rest.Config, version schema.GroupVersion) (rest.Interface, error) {
	codecs, err := loadCodecs()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.GroupVersion, config.NegotiatedSerializer = &version, codecs.WithoutConversion()
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	return rest.RESTClientFor(config)
}

// loadCodecs returns the codecs for the API types that this package sends and receives.
var loadCodecs = sync.OnceValues(func() (serializer.CodecFactory, error) {
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(corev1.AddToScheme, authorizationv1.AddToScheme, trainer.AddToScheme)
	err := kinds.AddToScheme(scheme)
	return serializer.NewCodecFactory(scheme), err
})

// Submit creates a TrainJob in the cluster, and stores the created object in the argument "job".
func (j Jobs) Submit(ctx context.Context, job *trainer.TrainJob) error {
	err := j.trainer.Post().Namespace(job.Namespace).Resource("trainjobs").Body(job).Do(ctx).Into(job)
	if err != nil {
		return fmt.Errorf("creating TrainJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	return nil
}

// Delete deletes a TrainJob, and the objects that the TrainJob owns. If the TrainJob does not exist, Delete returns no
// error.
func (j Jobs) Delete(ctx context.Context, key types.NamespacedName) error {
	err := j.trainer.Delete().Namespace(key.Namespace).Resource("trainjobs").Name(key.Name).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting TrainJob %s: %w", key, err)
	}
	return nil
}
