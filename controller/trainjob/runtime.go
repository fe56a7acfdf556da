package trainjob

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// runtimeSettings are the settings for this controller in the labels and annotations of a runtime. Trainer
// ignores these labels and annotations.
type runtimeSettings struct {
	// mpi is the MPI variant, such as openmpi, or empty if the runtime has no label with an MPI variant.
	mpi string
	// gangTimeout is the time in which all pods must be assigned to cluster nodes, or 0 for no limit.
	gangTimeout time.Duration
	// ttl is the time after which an ended TrainJob is deleted, or nil if ended TrainJobs are kept.
	ttl *time.Duration
}

// readRuntime returns the settings of a TrainJob's runtime, from the metadata in the cache. If the runtime of a TrainJob
// does not exist, readRuntime returns no settings. Trainer refuses TrainJobs whose runtime does not exist, but the
// runtime can be deleted later.
func (c *Controller) readRuntime(ctx context.Context, job *trainer.TrainJob) runtimeSettings {
	key := client.ObjectKey{Name: job.Spec.RuntimeRef.Name}
	kind := ptr.Deref(job.Spec.RuntimeRef.Kind, trainer.ClusterTrainingRuntimeKind)
	if kind == trainer.TrainingRuntimeKind {
		key.Namespace = job.Namespace
	}
	runtime := runtimeKind(kind)
	if err := c.Client.Get(ctx, key, runtime); err != nil {
		return runtimeSettings{}
	}
	return parseSettings(runtime)
}

// parseSettings reads the settings from the labels and annotations of a runtime, and ignores invalid values without an
// error. The values that trainyard generates are always valid.
func parseSettings(runtime client.Object) runtimeSettings {
	annotations := runtime.GetAnnotations()
	s := runtimeSettings{mpi: runtime.GetLabels()[v1alpha1.MPILabel]}
	var gang struct {
		TimeoutSeconds int64 `json:"timeoutSeconds"`
	}
	if json.Unmarshal([]byte(annotations[v1alpha1.GangAnnotation]), &gang) == nil && gang.TimeoutSeconds > 0 {
		s.gangTimeout = time.Duration(gang.TimeoutSeconds) * time.Second
	}
	if seconds, err := strconv.ParseInt(annotations[v1alpha1.TTLAnnotation], 10, 32); err == nil && seconds >= 0 {
		s.ttl = new(time.Duration(seconds) * time.Second)
	}
	return s
}

// runtimeKind returns an object in which only the API version and the kind are set. Clients need this object to read or
// watch the metadata of runtimes of this kind.
func runtimeKind(kind string) *metav1.PartialObjectMetadata {
	runtime := &metav1.PartialObjectMetadata{}
	runtime.SetGroupVersionKind(trainer.GroupVersion.WithKind(kind))
	return runtime
}

// requestUsers returns a reconcile request for each TrainJob that uses the changed runtime. All TrainJobs that use a
// TrainingRuntime are in the namespace of this TrainingRuntime. A ClusterTrainingRuntime has no namespace, so requestUsers
// searches all namespaces for TrainJobs that use it.
func (c *Controller) requestUsers(ctx context.Context, runtime client.Object) []reconcile.Request {
	all := &trainer.TrainJobList{}
	if c.Client.List(ctx, all, client.InNamespace(runtime.GetNamespace())) != nil {
		return nil // reading from a cache fails only while the program stops
	}
	kind := trainer.ClusterTrainingRuntimeKind
	if runtime.GetNamespace() != "" {
		kind = trainer.TrainingRuntimeKind
	}
	var requests []reconcile.Request
	for i := range all.Items {
		ref := all.Items[i].Spec.RuntimeRef
		if ref.Name == runtime.GetName() && ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind) == kind {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}
