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

// Jobs are the TrainJobs of one cluster, as somebody may see and change them.
//
// Every command pays for the packages that are linked, so these are client-go's bare REST clients:
// its clientset and controller-runtime's client register all of Kubernetes when a program starts.
type Jobs struct{ core, trainer, authorization rest.Interface }

// Connect prepares to reach the TrainJobs of a cluster, which it does not ask yet. It fails where
// the configuration is unusable.
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
	codecs, err := codecs()
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

// codecs are for what is read and written here.
var codecs = sync.OnceValues(func() (serializer.CodecFactory, error) {
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(corev1.AddToScheme, authorizationv1.AddToScheme, trainer.AddToScheme)
	err := kinds.AddToScheme(scheme)
	return serializer.NewCodecFactory(scheme), err
})

// Submit creates a TrainJob, and fills in what the cluster made of it.
func (j Jobs) Submit(ctx context.Context, job *trainer.TrainJob) error {
	err := j.trainer.Post().Namespace(job.Namespace).Resource("trainjobs").Body(job).Do(ctx).Into(job)
	if err != nil {
		return fmt.Errorf("creating TrainJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	return nil
}

// Delete removes a TrainJob and everything that was made for it. One that is gone is no error.
func (j Jobs) Delete(ctx context.Context, key types.NamespacedName) error {
	err := j.trainer.Delete().Namespace(key.Namespace).Resource("trainjobs").Name(key.Name).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting TrainJob %s: %w", key, err)
	}
	return nil
}
