package jobs

import (
	"context"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Jobs are the TrainJobs of one cluster, as somebody may see and change them.
type Jobs struct {
	client client.Client
	logs   typedcorev1.PodsGetter // client reads no logs
}

// New reaches TrainJobs and their pods through c, and the logs of those through logs.
func New(c client.Client, logs typedcorev1.PodsGetter) Jobs { return Jobs{client: c, logs: logs} }

// Connect reaches the TrainJobs of a cluster. It fails where no API server answers.
func Connect(config *rest.Config) (Jobs, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, authorizationv1.AddToScheme, trainer.AddToScheme} {
		if err := add(scheme); err != nil {
			return Jobs{}, fmt.Errorf("registering kinds: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return Jobs{}, fmt.Errorf("connecting to the cluster: %w", err)
	}
	logs, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return Jobs{}, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return New(c, logs), nil
}

// Submit creates a TrainJob, and fills in what the cluster made of it.
func (j Jobs) Submit(ctx context.Context, job *trainer.TrainJob) error {
	if err := j.client.Create(ctx, job); err != nil {
		return fmt.Errorf("creating TrainJob %s: %w", client.ObjectKeyFromObject(job), err)
	}
	return nil
}

// Delete removes a TrainJob and everything that was made for it. One that is gone is no error.
func (j Jobs) Delete(ctx context.Context, key client.ObjectKey) error {
	job := &trainer.TrainJob{}
	job.Namespace, job.Name = key.Namespace, key.Name
	if err := client.IgnoreNotFound(j.client.Delete(ctx, job)); err != nil {
		return fmt.Errorf("deleting TrainJob %s: %w", key, err)
	}
	return nil
}
